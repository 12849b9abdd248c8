"""The results of a run on the terminal."""

from __future__ import annotations

from collections import defaultdict
from statistics import mean, stdev
from typing import Any

from rich.table import Column, Table

from turnwise._utils.progress import console
from turnwise.papers.experiments.report_rows import main_metric, title_of


def print_results(results: dict[str, Any]) -> None:
    """One table for each data set: the main figure of every task, mean and deviation over seeds."""
    for data in dict.fromkeys(cell["data"] for cell in results["cells"]):
        cells = [cell for cell in results["cells"] if cell["data"] == data and cell["study"] is None]
        by_row: dict[str, dict[str, list[float]]] = {}
        reasons: dict[str, str] = {}
        for cell in cells:
            if cell["status"] != "done":
                reasons[cell["title"]] = f"{cell['status']}: {cell['reason']}"
                continue
            for row, task, value in main_figures(cell):
                by_row.setdefault(row, defaultdict(list))[task].append(value)
        if by_row:
            tasks = list(dict.fromkeys(task for figures in by_row.values() for task in figures))
            table = Table(
                "method",
                *(Column(_head(task, tasks), no_wrap=True) for task in tasks),
                title=data,
                title_justify="left",
            )
            for row, figures in by_row.items():
                table.add_row(row, *(_shown(task, figures[task]) for task in tasks))
            console.print(table)
        for row, reason in reasons.items():
            console.print(f"{data}: {row}: {reason}", soft_wrap=True)
    for title, reason in results["missing"].items():
        console.print(f"{title}: not run: {reason}", soft_wrap=True)


def main_figures(cell: dict[str, Any]) -> list[tuple[str, str, float]]:
    """Row, task and main figure; a task with several ways of scoring has one row for each."""
    rows = []
    for task, figures in cell["figures"].items():
        metric = main_metric(task)
        if metric in figures:
            rows.append((cell["title"], task, figures[metric]))
        else:
            rows += [(title_of(cell, mode), task, figures[mode][metric]) for mode in figures]
    return rows


def _head(task: str, tasks: list[str]) -> str:
    """The figure's name, after the task's name if several tasks have a figure of that name; one word per line."""
    metric = main_metric(task)
    shared = [main_metric(other) for other in tasks].count(metric) > 1
    return (f"{task}: {metric}" if shared else metric).replace("_", "\n").replace(" ", "\n")


def _shown(task: str, values: list[float]) -> str:
    if not values:
        return ""
    digits = 3 if task in ("alignment_uniformity", "additivity") else 1
    spread = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{spread}"
