"""The report of a run: means over seeds and intervals, with the paper's figures beside ours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnlens._utils.files import atomic_path
from turnlens._utils.vectors import bootstrap_interval
from turnlens.evaluation import find_task
from turnlens.evaluation.task import LOWER_IS_BETTER, NOT_IN_PERCENT
from turnlens.papers.experiments.suite import Study, find_suite

Results = dict[str, Any]  # the contents of results.json
CellRecord = dict[str, Any]  # a row, data set and seed in them

# The figures that a table shows after the main one, which alone has an interval.
_FURTHER = {
    "semantic_retrieval": ("mrr",),
    "domain_categorization": ("purity_std", "nmi"),
    "semantic_relatedness": ("spearman_best",),
    "conversation_retrieval": ("mrr",),
    "alignment_uniformity": ("alignment", "uniformity"),
    "next_message": ("average_rank_over_lengths", "mrr", "r_at_1", "r_at_10"),
    "component_analysis": ("average_rank_over_lengths",),
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
_ROOMS = {"dialoguecse": "dialogue_cse", "dial2vec": "dial2vec", "triple": "triple_encoders"}


# --- The papers' figures


@dataclass(frozen=True)
class PaperTable:
    """One figure of a table of a paper: rows are methods or, in a study of ours, data sets.

    ``task`` and ``metric`` have the names and units of our results; ``columns`` are data sets or values of the study.
    """

    table: str
    task: str
    metric: str
    columns: list[str]
    rows: dict[str, list[float]]
    study: str = ""
    note: str = ""

    def show(self, value: float) -> str:
        """Return a figure with the table's own number of decimals."""
        decimals = max(len(str(cell).partition(".")[2]) for row in self.rows.values() for cell in row)
        return f"{value:.{decimals}f}"


@dataclass(frozen=True)
class Paper:
    """The figures that a paper reports, ``published.json`` in its room.

    ``encoders`` are those of rows that don't start from ``encoder``; ``methods`` has the paper's rows for one of ours.
    """

    paper: str
    url: str
    encoder: str
    encoders: dict[str, str]
    methods: dict[str, list[str]]
    tables: list[PaperTable]

    def figure(self, method: str, data: str, task: str, metric: str) -> str:
        """Return the figure for one of our rows, with its encoder; "" if the paper has none."""
        for table in self.tables:
            columns = [column.lower() for column in table.columns]
            if (table.task, table.metric, table.study) == (task, metric, "") and data in columns:
                for row in self.methods.get(method, ()):
                    if row in table.rows:
                        encoder = self.encoders.get(row, self.encoder)
                        return f"{table.show(table.rows[row][columns.index(data)])} ({encoder})"
        return ""

    def notes(self, data: str, task: str) -> list[str]:
        """Return what a reader has to know about the figures of a task on a data set."""
        of_task = [table for table in self.tables if (table.task, table.study) == (task, "") and table.note]
        with_data = [table for table in of_task if data in map(str.lower, table.columns)]
        return list(dict.fromkeys(f"The paper's {table.table}: {table.note}" for table in with_data))


def load_paper(suite: str) -> Paper:
    """Return the figures of the paper of a suite."""
    text = (files("turnlens.papers") / _ROOMS[suite] / "published.json").read_text(encoding="utf-8")
    content = json.loads(text)
    return Paper(**{**content, "tables": [PaperTable(**table) for table in content["tables"]]})


# --- Rows of our tables


@dataclass(frozen=True, eq=False)
class Row:
    """One row over its seeds in a task or, if the task has several ways of scoring, in one of these.

    ``key`` is the row's name, followed by ``/mode`` if there are modes; ``figures`` are those of each seed; ``values``
    (queries,) is the main figure of each query, averaged over seeds, if queries have one.
    """

    key: str
    title: str
    figures: list[dict[str, Any]]
    values: NDArray[np.float64] | None

    def mean(self, metric: str) -> str:
        """Return the mean over seeds and, with several, the standard deviation; "" if there is no such figure."""
        if any(metric not in figures for figures in self.figures):
            return ""
        values = [figures[metric] for figures in self.figures]
        deviation = f" ± {_number(np.std(values, ddof=1), metric)}" if len(values) > 1 else ""
        return _number(np.mean(values), metric) + deviation

    def interval(self, metric: str) -> str:
        """Return a 95 % bootstrap interval over queries, or the mean of the seeds' intervals; "" without both."""
        if self.values is not None:
            ends: Sequence[float] = bootstrap_interval(self.values)
        elif f"{metric}_interval" in self.figures[0]:
            ends = np.mean([figures[f"{metric}_interval"] for figures in self.figures], axis=0).tolist()
        else:
            return ""
        return f"[{', '.join(_number(end, metric) for end in ends)}]"


def rows_of(cells: Sequence[CellRecord], task: str) -> list[Row]:
    """Return the rows measured in a task, in the order of the cells."""
    metric, rows = find_task(task).metric, []
    done = [cell for cell in cells if cell["status"] == "done" and task in cell["figures"]]
    for method in dict.fromkeys(cell["method"] for cell in done):
        seeds = [cell for cell in done if cell["method"] == method]
        title, figures = seeds[0]["title"], [cell["figures"][task] for cell in seeds]
        if metric in figures[0]:
            rows.append(Row(method, title, figures, _values(seeds, task, metric)))
            continue
        # A mode is named only if the row has several, in any task.
        of_modes = [of_task for name, of_task in seeds[0]["figures"].items() if find_task(name).metric not in of_task]
        several = len({mode for of_task in of_modes for mode in of_task}) > 1
        for mode in figures[0]:
            values = _values(seeds, f"{task}/{mode}", metric)
            of_mode = [by_mode[mode] for by_mode in figures]
            rows.append(Row(f"{method}/{mode}", f"{title}: {mode}" if several else title, of_mode, values))
    return rows


def _values(seeds: Sequence[CellRecord], key: str, metric: str) -> NDArray[np.float64] | None:
    if not all(key in cell["per_query"] for cell in seeds):
        return None
    values = np.mean([cell["per_query"][key] for cell in seeds], axis=0)
    return np.asarray(values if metric in NOT_IN_PERCENT else 100 * values)


def _number(value: Any, metric: str) -> str:
    return f"{value:.{2 if metric.startswith('average_rank') else 3 if metric in NOT_IN_PERCENT else 1}f}"


# --- Tables


def write_report(results: Results, out: Path) -> None:
    """Write ``report.md`` into a folder."""
    paper, cells = load_paper(results["suite"]), results["cells"]
    sections = [f"# {results['paper']}: `{results['suite']}`", _introduction(results, paper)]
    for data in dict.fromkeys(cell["data"] for cell in cells):
        about, of_data = results["data"].get(data, {}), [cell for cell in cells if cell["data"] == data]
        sections += _data_section(paper, data, about, [cell for cell in of_data if cell["study"] is None])
    for study in find_suite(results["suite"]).studies:
        if of_study := [cell for cell in cells if cell["study"] and cell["study"]["name"] == study.name]:
            sections += [f"## {study.title}", *_study_tables(results, paper, study, of_study)]
    if results["missing"]:
        lines = [f"- {title}: {reason}" for title, reason in results["missing"].items()]
        sections += ["## Data sets that were not found", "\n".join(lines)]
    sections += ["## What the paper reports", *(_paper_table(paper, table) for table in paper.tables)]
    with atomic_path(out / "report.md") as temporary:
        temporary.write_text("\n\n".join(sections) + "\n", encoding="utf-8", newline="\n")


def _introduction(results: Results, paper: Paper) -> str:
    quick = "A quick run: it shows that everything works, its figures are no results.\n\n" if results["quick"] else ""
    done, planned = len(results["cells"]), results["planned"]
    if done < planned:
        quick += f"**Unfinished**: {done} of {planned} rows and seeds; the same command goes on.\n\n"
    environment = ", ".join(f"{name} {value}" for name, value in results["environment"].items())
    return (
        f"{quick}Mean ± standard deviation over seeds, in percent unless a figure is a rank, a distance or a cosine. "
        "The interval is a 95 % bootstrap over queries of the mean over seeds (where queries have no values of their "
        f"own, the mean of the seeds' intervals). The paper's figures ([{paper.paper}]({paper.url})) are of **another "
        f"encoder**, named in parentheses.\n\n```bash\n{results['command']}\n```\n\n{environment}"
    )


def _data_section(paper: Paper, data: str, about: Mapping[str, Any], cells: list[CellRecord]) -> list[str]:
    """Return a data set's sizes, a table for each task, and the rows that have no figures."""
    parts = (("train", "learn from"), ("test", "test on"))
    sizes = ", ".join(f"{about[part]:,} to {verb}" for part, verb in parts if about.get(part))
    sections = [f"## {about.get('title', data)}" + (f" (conversations: {sizes})" if sizes else "")]
    if about.get("validates"):
        sections.append(f"Published trainings keep their best step by {about['validates']} on validation data.")
    absent = {cell["method"]: f"{cell['title']} ({cell['reason']})" for cell in cells if cell["status"] == "not run"}
    sections += [_task_table(paper, data, task, rows_of(cells, task), absent) for task in _tasks_of(cells)]
    return sections + _without_figures(cells)


def _task_table(paper: Paper, data: str, task: str, rows: Sequence[Row], absent: Mapping[str, str]) -> str:
    """Return the rows' figures with the paper's beside them; rows that were not run follow if the paper has theirs."""
    metric = find_task(task).metric
    metrics = (metric, *_FURTHER.get(task, ()))
    of_paper = {
        key: [paper.figure(key, data, task, name) for name in metrics] for key in (*(row.key for row in rows), *absent)
    }
    header = ["method", "seeds"]
    for name in metrics:
        header += [_title(name), *(["95 % interval"] if name == metric else []), f"paper: {_title(name)}"]
    lines = []
    for row in rows:
        line = [row.title, str(len(row.figures))]
        for name, figure in zip(metrics, of_paper[row.key]):
            line += [row.mean(name), *([row.interval(name)] if name == metric else []), figure]
        lines.append(line)
    for key, title in absent.items():
        if any(of_paper[key]):
            first, *others = of_paper[key]
            lines.append([title, "", "", "", first, *(cell for figure in others for cell in ("", figure))])
    used = [column for column in range(len(header)) if any(line[column] for line in lines)]
    table = _markdown([header[column] for column in used], [[line[column] for column in used] for line in lines])
    notes = paper.notes(data, task) if any(any(figures) for figures in of_paper.values()) else []
    return "\n\n".join([f"**`{find_task(task).name}`**", table, *([" ".join(f"{n}." for n in notes)] if notes else [])])


def _study_tables(results: Results, paper: Paper, study: Study, cells: list[CellRecord]) -> list[str]:
    """Return a table for each data set and task: main figures by value, then those of the paper."""
    sections = []
    for data in dict.fromkeys(cell["data"] for cell in cells):
        of_data = [cell for cell in cells if cell["data"] == data]
        values = sorted({cell["study"]["value"] for cell in of_data})
        for task in _tasks_of(of_data):
            metric = find_task(task).metric
            lines: dict[str, dict[float, str]] = {}
            for value in values:
                for row in rows_of([cell for cell in of_data if cell["study"]["value"] == value], task):
                    lines.setdefault(row.title, {})[value] = row.mean(metric)
            for table in paper.tables:
                if (table.study, table.task, table.metric) == (study.name, task, metric):
                    own = {name: figures for name, figures in table.rows.items() if name.lower() == data}
                    for name, figures in (own or table.rows).items():
                        shown = dict(zip(map(float, table.columns), map(table.show, figures)))
                        lines[f"paper: {name} ({paper.encoder})"] = shown
            title = f"{results['data'].get(data, {}).get('title', data)}, `{find_task(task).name}`: {_title(metric)}"
            header = [study.setting.replace("_", " "), *(f"{value:g}" for value in values)]
            body = [[name, *(line.get(value, "") for value in values)] for name, line in lines.items()]
            sections.append(f"**{title}**\n\n{_markdown(header, body)}")
    return sections + _without_figures(cells)


def _without_figures(cells: Iterable[CellRecord]) -> list[str]:
    """Return the rows that failed or were not run, by reason."""
    titles: dict[str, dict[str, None]] = {}
    for cell in cells:
        if cell["status"] != "done":
            value = f" at {cell['study']['value']:g}" if cell["study"] else ""
            seed = f", seed {cell['seed']}" if cell["status"] == "failed" else ""
            titles.setdefault(f"{cell['status']}: {cell['reason']}", {})[cell["title"] + value + seed] = None
    lines = [f"- {reason} ({'; '.join(of_reason)})" for reason, of_reason in titles.items()]
    return ["Without figures:\n\n" + "\n".join(lines)] if lines else []


def _paper_table(paper: Paper, table: PaperTable) -> str:
    title = f"{table.table}: `{find_task(table.task).name}`, {_title(table.metric)}"
    title = f"**{title}{f', by {table.study}' if table.study else ''}**" + (f" ({table.note})" if table.note else "")
    lines = [
        [row, paper.encoder if table.study else paper.encoders.get(row, paper.encoder), *map(table.show, figures)]
        for row, figures in table.rows.items()
    ]
    return f"{title}\n\n{_markdown(['data' if table.study else 'method', 'encoder', *table.columns], lines)}"


def _tasks_of(cells: Iterable[CellRecord]) -> list[str]:
    return list(dict.fromkeys(task for cell in cells if cell["status"] == "done" for task in cell["figures"]))


def _title(metric: str) -> str:
    title = _TITLES.get(metric) or metric.replace("_at_", "@").replace("_", " ").capitalize()
    return title + (" ↓" if metric in LOWER_IS_BETTER else "")


def _markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
