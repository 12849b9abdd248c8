"""The tables of the report: a task on a data set, a study, the costs, and a table of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

import numpy as np

from turnlens.papers.experiments.papers import Paper, PaperTable
from turnlens.papers.experiments.report_format import (
    data_title,
    interval_text,
    markdown_table,
    mean_text,
    metric_title,
    p_text,
    task_title,
)
from turnlens.papers.experiments.report_rows import (
    Row,
    best_baseline,
    cells_of,
    distinct,
    main_metric,
    p_value,
    rows_of,
    tasks_of,
)
from turnlens.papers.experiments.results import CellRecord, Results
from turnlens.papers.experiments.suite import Study

# The figures that a table shows after the main one, which alone has an interval and a p-value.
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


def task_table(
    paper: Paper, data: str, task: str, rows: Sequence[Row], not_run: Mapping[str, str] | None = None
) -> str:
    """The methods' figures in a task, with the paper's beside them and notes below.

    Args:
        paper: The paper.
        data: The data set.
        task: Key of the task.
        rows: The methods that were measured.
        not_run: Title and reason of methods that were not run, by name. Those of which the paper has a figure stand in
            the table, too.
    """
    metric = main_metric(task)
    metrics = (metric, *_FURTHER.get(task, ()))
    best = best_baseline(rows, metric)
    tested = [p_value(row, best) for row in rows]
    absent = [name for name in not_run or {} if any(paper.figure(name, data, task, further) for further in metrics)]
    columns: list[tuple[str, list[str]]] = [
        ("method", [*(row.title for row in rows), *((not_run or {})[name] for name in absent)]),
        ("seeds", [str(len(row.figures)) for row in rows]),
    ]
    for name in metrics:
        columns.append((metric_title(name), [mean_text(row, name) for row in rows]))
        if name == metric:
            columns.append(("95 % interval", [interval_text(row, name) for row in rows]))
            columns.append(("p", list(map(p_text, tested))))
        of_paper = [paper.figure(key, data, task, name) for key in (*(row.key for row in rows), *absent)]
        columns.append((f"paper: {metric_title(name)}", of_paper))
    columns = [column for column in columns if any(column[1])]
    lines = zip_longest(*(cells for _, cells in columns), fillvalue="")
    notes = [f"p is against the best baseline, *{best.title}*"] if best and any(p is not None for p in tested) else []
    notes += paper.notes(data, task) if any(title.startswith("paper:") for title, _ in columns) else []
    below = [" ".join(f"{note}." for note in notes)] if notes else []
    return "\n\n".join([markdown_table([title for title, _ in columns], lines), *below])


def study_tables(results: Results, paper: Paper, study: Study) -> list[str]:
    """A table for each data set and task."""
    sections = []
    for data in distinct(cells_of(results, study=study.name), "data"):
        cells = cells_of(results, data, study.name)
        for task in tasks_of(cells):
            title = f"{data_title(results, data)}, {task_title(task)}: {metric_title(main_metric(task))}"
            sections.append(f"**{title}**\n\n{_study_table(paper, data, study, task, cells)}")
    return sections


def _study_table(paper: Paper, data: str, study: Study, task: str, cells: Sequence[CellRecord]) -> str:
    """The methods' main figures at each value with their p, and below them the paper's on this data set or its own."""
    metric = main_metric(task)
    values = sorted({cell["study"]["value"] for cell in cells})
    rows: dict[str, dict[float, Row]] = {}
    for value in values:
        for row in rows_of([cell for cell in cells if cell["study"]["value"] == value], task):
            rows.setdefault(row.title, {})[value] = row
    lines: dict[str, dict[float, str]] = {}
    for title, of_method in rows.items():
        lines[title] = {value: mean_text(row, metric) for value, row in of_method.items()}
        first = min(of_method)
        tested = {value: p_text(p_value(row, of_method[first])) for value, row in of_method.items()}
        if any(tested.values()):
            lines[f"{title}: p against {first:g}"] = tested
    for table in paper.tables:
        if (table.study, table.task, table.metric) == (study.name, task, metric):
            own = {name: figures for name, figures in table.rows.items() if name.lower() == data}
            for name, figures in (own or table.rows).items():
                shown = zip(map(float, table.columns), map(table.show, figures))
                lines[f"paper: {name} ({paper.encoder})"] = dict(shown)
    body = [[name, *(line.get(value, "") for value in values)] for name, line in lines.items()]
    return markdown_table([study.setting.replace("_", " "), *(f"{value:g}" for value in values)], body)


def cost_table(results: Results, costs: Sequence[dict[str, float] | None]) -> str:
    """Means over seeds, one line for each data set, method and value of a study; "" where nothing was run.

    Args:
        results: The results.
        costs: Time and tokens of each cell of the results; None for a cell that was not run.
    """
    groups: dict[tuple[str, str, str], list[dict[str, float]]] = {}
    for cell, cost in zip(results["cells"], costs):
        if cost is not None:
            study = f"{cell['study']['name']} {cell['study']['value']:g}" if cell["study"] else ""
            groups.setdefault((data_title(results, cell["data"]), cell["title"], study), []).append(cost)
    names = ("seconds", "train_seconds", "train_tokens")
    lines = [
        [*group, *(f"{np.mean([cost.get(name) or 0 for cost in of_group]):,.0f}" for name in names)]
        for group, of_group in groups.items()
    ]
    header = ["data", "method", "study", "seconds", "of these in training", "tokens of training"]
    return markdown_table(header, lines) if lines else ""


def paper_table(paper: Paper, table: PaperTable) -> str:
    """A table of the paper, with its title."""
    title = f"{table.table}: {task_title(table.task)}, {metric_title(table.metric)}" + (
        f", by {table.study}" if table.study else ""
    )
    lines = [
        [row, paper.encoder if table.study else paper.encoder_of(row), *map(table.show, figures)]
        for row, figures in table.rows.items()
    ]
    header = ["data" if table.study else "method", "encoder", *table.columns]
    return f"**{title}**" + (f" ({table.note})" if table.note else "") + f"\n\n{markdown_table(header, lines)}"
