"""The report of a run: tables with intervals, what could not be run, and the paper's figures beside ours.

Made from the run's files and the papers' figures. ``python -m turnwise.experiments.report OUT`` writes it again; with
``--into PAGE`` it puts the tables between ``<!-- bench: NAME -->`` and ``<!-- end bench: NAME -->`` of a page.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from turnwise._utils.files import atomic_path
from turnwise.evaluation.tasks import find_task
from turnwise.experiments.papers import Paper, PaperTable, load_paper
from turnwise.experiments.report_plots import plot_results
from turnwise.experiments.report_rows import (
    LOWER_IS_BETTER,
    PLAIN,
    Cell,
    Results,
    Row,
    best_baseline,
    cells_of,
    distinct,
    main_metric,
    p_value,
    rows_of,
    tasks_of,
)
from turnwise.experiments.suites import find_suite

# What a table shows after the task's main figure, which has the interval and the p-value.
_FURTHER = {
    "semantic_retrieval": ("mrr",),
    "domain_categorization": ("purity_std", "nmi"),
    "semantic_relatedness": ("spearman_best",),
    "dialogue_retrieval": ("mrr",),
    "alignment_uniformity": ("alignment", "uniformity"),
    "next_utterance": ("mrr", "r_at_1", "r_at_10"),
    "short_term_planning": ("hits_at_5", "hits_at_10", "hits_at_25", "hits_at_50"),
    "additivity": ("true", "random"),
}
_TITLES = {
    "map": "MAP",
    "mrr": "MRR",
    "nmi": "NMI",
    "purity_std": "of ten clusterings: ±",
    "spearman_best": "best possible",
}


def write_report(out: str | os.PathLike[str], plots: bool = True) -> Path:
    """Write ``report.md`` beside the results of a run, and plots.

    Args:
        out: The folder with ``results.json``.
        plots: Whether to draw the plots, too; they take some seconds.

    Returns:
        The report.
    """
    out = Path(out)
    results, paper = _load(out)
    sections = [f"# {results['paper']}: `{results['suite']}`", *_body(results, paper, "##")]
    if plots:
        try:
            pictures = [f"![{path.stem}]({path.name})" for path in plot_results(results, out)]
        except ImportError as error:
            pictures = [f"Left out: {error}."]
        sections += ["## Plots", *pictures] if pictures else []
    if (out / "results-cost.json").is_file():
        sections += _costs(results, _read(out / "results-cost.json")["cells"])
    sections += ["## What the paper reports", *(_paper_table(paper, table) for table in paper.tables)]
    with atomic_path(out / "report.md") as temporary:
        temporary.write_text("\n\n".join(sections) + "\n", encoding="utf-8", newline="\n")
    return out / "report.md"


def docs_section(out: str | os.PathLike[str]) -> str:
    """The tables, what could not be run and the command, as a section for a page of documentation."""
    return "\n\n".join(_body(*_load(Path(out)), heading="###"))


def write_into(out: str | os.PathLike[str], page: str | os.PathLike[str], name: str | None = None) -> None:
    """Put ``docs_section(out)`` between ``<!-- bench: NAME -->`` and ``<!-- end bench: NAME -->`` of a page.

    Args:
        out: The folder with ``results.json``.
        page: The Markdown file.
        name: The name in the two lines; by default the suite's.

    Raises:
        ValueError: The page does not have the two lines, each once and in this order.
    """
    results, paper = _load(Path(out))
    page = Path(page)
    name = name or results["suite"]
    start, end = f"<!-- bench: {name} -->", f"<!-- end bench: {name} -->"
    text = page.read_text(encoding="utf-8")
    if not (text.count(start) == text.count(end) == 1 and text.index(start) < text.index(end)):
        raise ValueError(f"{page}: expected the lines {start} and {end}, each once and in this order")
    parts = [text[: text.index(start)] + start, *_body(results, paper, "###"), text[text.index(end) :]]
    with atomic_path(page) as temporary:
        temporary.write_text("\n\n".join(parts), encoding="utf-8", newline="\n")


def _load(out: Path) -> tuple[Results, Paper]:
    results = _read(out / "results.json")
    return results, load_paper(results["suite"])


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _body(results: Results, paper: Paper, heading: str) -> list[str]:
    """How to read it, all data sets, and the studies."""
    sections = [_introduction(results, paper)]
    for data in distinct(results["cells"], "data"):
        cells = cells_of(results, data)
        about = results["data"].get(data, {})
        sizes = [
            f"{about[part]:,} to {verb}"
            for part, verb in (("train", "learn from"), ("test", "test on"))
            if about.get(part)
        ]
        sections.append(
            f"{heading} {_data_title(results, data)}" + (f" (conversations: {', '.join(sizes)})" if sizes else "")
        )
        for task in tasks_of(cells):
            sections.append(f"**{_task_name(task)}**\n\n{_task_table(paper, data, task, rows_of(cells, task))}")
        sections += _without_figures(cells)
    for study in find_suite(results["suite"]).studies:
        if cells := cells_of(results, study=study.name):
            sections += [f"{heading} {study.title}", *_study_tables(results, paper, study.name, study.setting)]
            sections += _without_figures(cells)
    if results["missing"]:
        lines = [f"- {title}: {reason}" for title, reason in results["missing"].items()]
        sections += [f"{heading} Data sets that were not found", "\n".join(lines)]
    return sections


def _introduction(results: Results, paper: Paper) -> str:
    quick = "A quick run: it shows that everything works, its figures are no results.\n\n" if results["quick"] else ""
    environment = ", ".join(f"{name} {value}" for name, value in results["environment"].items())
    return (
        f"{quick}Mean ± standard deviation over seeds, in percent unless a figure is a rank, a distance or a cosine. "
        "The interval is a 95 % bootstrap over queries of the mean over seeds (where queries have no values of their "
        "own, the mean of the seeds' intervals), p a two-sided paired bootstrap over the same queries. The paper's "
        f"figures ([{paper.paper}]({paper.url})) are of **another encoder**, named in parentheses.\n\n"
        f"```bash\n{results['command']}\n```\n\n{environment}"
    )


def _task_table(paper: Paper, data: str, task: str, rows: Sequence[Row]) -> str:
    metric = main_metric(task)
    best = best_baseline(rows, metric)
    tested = [p_value(row, best) for row in rows]
    columns: list[tuple[str, list[str]]] = [
        ("method", [row.title for row in rows]),
        ("seeds", [str(len(row.figures)) for row in rows]),
    ]
    for name in (metric, *_FURTHER.get(task, ())):
        columns.append((_title(name), [_mean(row, name) for row in rows]))
        if name == metric:
            columns.append(("95 % interval", [_interval(row, name) for row in rows]))
            columns.append(("p", list(map(_p, tested))))
        columns.append((f"paper: {_title(name)}", [paper.figure(row.key, data, task, name) for row in rows]))
    columns = [column for column in columns if any(column[1])]
    notes = [f"p is against the best baseline, *{best.title}*"] if best and any(p is not None for p in tested) else []
    notes += paper.notes(data, task) if any(title.startswith("paper:") for title, _ in columns) else []
    below = [" ".join(f"{note}." for note in notes)] if notes else []
    return "\n\n".join([_markdown([title for title, _ in columns], zip(*(cells for _, cells in columns))), *below])


def _study_tables(results: Results, paper: Paper, study: str, setting: str) -> list[str]:
    """For each data set and task the methods' figures at each value, the paper's below them."""
    sections = []
    for data in distinct(cells_of(results, study=study), "data"):
        cells = cells_of(results, data, study)
        values = sorted({cell["study"]["value"] for cell in cells})
        for task in tasks_of(cells):
            metric = main_metric(task)
            lines: dict[str, dict[float, str]] = {}
            for value in values:
                for row in rows_of([cell for cell in cells if cell["study"]["value"] == value], task):
                    lines.setdefault(row.title, {})[value] = _mean(row, metric)
            for table in paper.tables:
                if (table.study, table.task, table.metric) == (study, task, metric):
                    for name, figures in table.rows.items():
                        shown = zip(map(float, table.columns), map(table.show, figures))
                        lines[f"paper: {name} ({paper.encoder})"] = dict(shown)
            body = [[name, *(line.get(value, "") for value in values)] for name, line in lines.items()]
            header = [setting.replace("_", " "), *(f"{value:g}" for value in values)]
            title = f"{_data_title(results, data)}, {_task_name(task)}: {_title(metric)}"
            sections.append(f"**{title}**\n\n{_markdown(header, body)}")
    return sections


def _without_figures(cells: Iterable[Cell]) -> list[str]:
    """What failed or was not run, by the reason."""
    titles: dict[str, dict[str, None]] = {}
    for cell in cells:
        if cell["status"] != "done":
            value = f" at {cell['study']['value']:g}" if cell["study"] else ""
            seed = f", seed {cell['seed']}" if cell["status"] == "failed" else ""
            titles.setdefault(f"{cell['status']}: {cell['reason']}", {})[cell["title"] + value + seed] = None
    lines = [f"- {reason} ({'; '.join(some)})" for reason, some in titles.items()]
    return ["Without figures:\n\n" + "\n".join(lines)] if lines else []


def _costs(results: Results, costs: Sequence[dict[str, float] | None]) -> list[str]:
    """Means over seeds, one line for each data set, method and value of a study."""
    groups: dict[tuple[str, str, str], list[dict[str, float]]] = {}
    for cell, cost in zip(results["cells"], costs):
        if cost is not None:
            study = f"{cell['study']['name']} {cell['study']['value']:g}" if cell["study"] else ""
            groups.setdefault((_data_title(results, cell["data"]), cell["title"], study), []).append(cost)
    names = ("seconds", "train_seconds", "train_tokens")
    lines = [
        [*group, *(f"{np.mean([cost.get(name) or 0 for cost in some]):,.0f}" for name in names)]
        for group, some in groups.items()
    ]
    header = ["data", "method", "study", "seconds", "of these in training", "tokens of training"]
    return ["## Cost", "Means over seeds.", _markdown(header, lines)] if lines else []


def _paper_table(paper: Paper, table: PaperTable) -> str:
    title = f"{table.table}: {_task_name(table.task)}, {_title(table.metric)}" + (
        f", by {table.study}" if table.study else ""
    )
    lines = [
        [row, paper.encoder if table.study else paper.encoder_of(row), *map(table.show, figures)]
        for row, figures in table.rows.items()
    ]
    header = ["data" if table.study else "method", "encoder", *table.columns]
    return f"**{title}**" + (f" ({table.note})" if table.note else "") + f"\n\n{_markdown(header, lines)}"


def _markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def _data_title(results: Results, data: str) -> str:
    return str(results["data"].get(data, {}).get("title", data))


def _task_name(task: str) -> str:
    return f"`{find_task(task).name}`"


def _title(metric: str) -> str:
    title = _TITLES.get(metric) or metric.replace("_at_", "@").replace("_", " ").capitalize()
    return title + (" ↓" if metric in LOWER_IS_BETTER else "")


def _number(value: float, metric: str) -> str:
    return f"{value:.{2 if metric == 'average_rank' else 3 if metric in PLAIN else 1}f}"


def _mean(row: Row, metric: str) -> str:
    deviation = row.deviation(metric)
    return _number(row.mean(metric), metric) + ("" if deviation is None else f" ± {_number(deviation, metric)}")


def _interval(row: Row, metric: str) -> str:
    interval = row.interval(metric)
    return "" if interval is None else f"[{', '.join(_number(end, metric) for end in interval)}]"


def _p(p: float | None) -> str:
    if p is None:
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the report of a benchmark run, or its tables into a page.")
    parser.add_argument("out", help="the folder with results.json")
    parser.add_argument("--into", help="a page with the lines <!-- bench: NAME --> and <!-- end bench: NAME -->")
    parser.add_argument("--name", help="the name in these lines; by default the suite's")
    given = parser.parse_args()
    if given.into is None:
        write_report(given.out)
    else:
        write_into(given.out, given.into, given.name)


if __name__ == "__main__":
    main()
