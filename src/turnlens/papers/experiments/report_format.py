"""How the report writes titles, figures and tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turnlens.evaluation import find_task
from turnlens.evaluation.task import LOWER_IS_BETTER, NOT_IN_PERCENT
from turnlens.papers.experiments.report_rows import Row
from turnlens.papers.experiments.results import Results

_METRIC_TITLES = {
    "map": "MAP",
    "mrr": "MRR",
    "nmi": "NMI",
    "purity_std": "of ten clusterings: ±",
    "spearman_best": "best possible",
}


def markdown_table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def data_title(results: Results, data: str) -> str:
    """The title of a data set."""
    return str(results["data"].get(data, {}).get("title", data))


def task_title(task: str) -> str:
    """The name of a task, given its key."""
    return f"`{find_task(task).name}`"


def metric_title(metric: str) -> str:
    """The title of a metric, with an arrow where lower is better."""
    title = _METRIC_TITLES.get(metric) or metric.replace("_at_", "@").replace("_", " ").capitalize()
    return title + (" ↓" if metric in LOWER_IS_BETTER else "")


def mean_text(row: Row, metric: str) -> str:
    """The mean over seeds and, with several seeds, the deviation; "" where there is no such figure."""
    if any(metric not in figures for figures in row.figures):
        return ""
    deviation = row.deviation(metric)
    return _number(row.mean(metric), metric) + ("" if deviation is None else f" ± {_number(deviation, metric)}")


def interval_text(row: Row, metric: str) -> str:
    """The interval; "" where there is none."""
    interval = row.interval(metric)
    return "" if interval is None else f"[{', '.join(_number(end, metric) for end in interval)}]"


def p_text(p: float | None) -> str:
    """A p-value; "" where there is none."""
    if p is None:
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _number(value: float, metric: str) -> str:
    return f"{value:.{2 if metric.startswith('average_rank') else 3 if metric in NOT_IN_PERCENT else 1}f}"
