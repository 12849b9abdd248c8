"""The report of a run: tables with intervals, what could not be run, and the paper's figures beside ours."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from turnlens._utils.files import atomic_path
from turnlens.papers.experiments.papers import Paper, load_paper
from turnlens.papers.experiments.report_format import data_title, task_title
from turnlens.papers.experiments.report_plots import plot_results
from turnlens.papers.experiments.report_rows import cells_of, distinct, rows_of, tasks_of
from turnlens.papers.experiments.report_tables import cost_table, paper_table, study_tables, task_table
from turnlens.papers.experiments.results import CellRecord, Results
from turnlens.papers.experiments.suites import find_suite


def write_report(out: str | os.PathLike[str], plots: bool = True) -> Path:
    """Write ``report.md`` beside the results of a run, and plots.

    Args:
        out: The folder with ``results.json``.
        plots: Whether to draw plots, too, which takes some seconds.

    Returns:
        The report.

    Raises:
        ValueError: There are no results in the folder.
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
        costs = cost_table(results, _read(out / "results-cost.json")["cells"])
        sections += ["## Cost", "Means over seeds.", costs] if costs else []
    if paper.tables:
        sections += ["## What the paper reports", *(paper_table(paper, table) for table in paper.tables)]
    with atomic_path(out / "report.md") as temporary:
        temporary.write_text("\n\n".join(sections) + "\n", encoding="utf-8", newline="\n")
    return out / "report.md"


def write_into(out: str | os.PathLike[str], page: str | os.PathLike[str], name: str | None = None) -> None:
    """Put tables, command and what could not be run between ``<!-- bench: NAME -->`` and ``<!-- end bench: NAME -->``.

    Args:
        out: The folder with ``results.json``.
        page: The Markdown file.
        name: The name in the two lines; by default the suite's.

    Raises:
        ValueError: There are no results in the folder, or the page does not have the two lines, each once and in this
            order.
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
    if not (out / "results.json").is_file():
        raise ValueError(
            f"{out} has no results.json: expected the folder that `turnlens papers bench` wrote (its --out)"
        )
    results = _read(out / "results.json")
    return results, load_paper(results["suite"])


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _body(results: Results, paper: Paper, heading: str) -> list[str]:
    """How to read the report, all data sets, the studies, and what was not found."""
    sections = [_introduction(results, paper)]
    for data in distinct(results["cells"], "data"):
        sections += _data_section(results, paper, data, heading)
    for study in find_suite(results["suite"]).studies:
        if cells := cells_of(results, study=study.name):
            sections += [f"{heading} {study.title}", *study_tables(results, paper, study)]
            sections += _without_figures(cells)
    if results["missing"]:
        lines = [f"- {title}: {reason}" for title, reason in results["missing"].items()]
        sections += [f"{heading} Data sets that were not found", "\n".join(lines)]
    return sections


def _introduction(results: Results, paper: Paper) -> str:
    quick = "A quick run: it shows that everything works, its figures are no results.\n\n" if results["quick"] else ""
    of_paper = (
        f" The paper's figures ([{paper.paper}]({paper.url})) are of **another encoder**, named in parentheses."
        if paper.tables
        else ""
    )
    done, planned = len(results["cells"]), results["planned"]
    if done < planned:
        quick += f"**Unfinished**: {done} of {planned} rows and seeds; the same command goes on.\n\n"
    environment = ", ".join(f"{name} {value}" for name, value in results["environment"].items())
    return (
        f"{quick}Mean ± standard deviation over seeds, in percent unless a figure is a rank, a distance or a cosine. "
        "The interval is a 95 % bootstrap over queries of the mean over seeds (where queries have no values of their "
        f"own, the mean of the seeds' intervals), p a two-sided paired bootstrap over the same queries.{of_paper}\n\n"
        f"```bash\n{results['command']}\n```\n\n{environment}"
    )


def _data_section(results: Results, paper: Paper, data: str, heading: str) -> list[str]:
    """A data set: its sizes, a table for each task, and the methods that have no figures."""
    cells = cells_of(results, data)
    about = results["data"].get(data, {})
    sizes = [
        f"{about[part]:,} to {verb}" for part, verb in (("train", "learn from"), ("test", "test on")) if about.get(part)
    ]
    sections = [f"{heading} {data_title(results, data)}" + (f" (conversations: {', '.join(sizes)})" if sizes else "")]
    if about.get("validates"):
        sections.append(f"Published trainings keep their best step by {about['validates']} on validation data.")
    not_run = {cell["method"]: f"{cell['title']} ({cell['reason']})" for cell in cells if cell["status"] == "not run"}
    for task in tasks_of(cells):
        sections.append(f"**{task_title(task)}**\n\n{task_table(paper, data, task, rows_of(cells, task), not_run)}")
    return sections + _without_figures(cells)


def _without_figures(cells: Iterable[CellRecord]) -> list[str]:
    """The rows that failed or were not run, by reason."""
    titles: dict[str, dict[str, None]] = {}
    for cell in cells:
        if cell["status"] != "done":
            value = f" at {cell['study']['value']:g}" if cell["study"] else ""
            seed = f", seed {cell['seed']}" if cell["status"] == "failed" else ""
            titles.setdefault(f"{cell['status']}: {cell['reason']}", {})[cell["title"] + value + seed] = None
    lines = [f"- {reason} ({'; '.join(of_reason)})" for reason, of_reason in titles.items()]
    return ["Without figures:\n\n" + "\n".join(lines)] if lines else []
