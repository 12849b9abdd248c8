"""The results of the commands, as tables on the terminal and as JSON files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Column, Table

from turnlens._utils.files import check_file, is_standard, write_text
from turnlens._utils.progress import console
from turnlens._utils.text_values import strict_json

_COUNTS = ("queries", "pairs", "conversations", "messages")


def check_json(path: Path | None, force: bool, data: Any = ()) -> None:
    """Raise the errors of `write_json` that can be found before anything is read; the data must not be the output."""
    from turnlens.formats.input_files import check_apart

    if path is not None:
        check_apart(path, data)
        check_file(path, force)


def write_json(path: Path | None, value: Any) -> bool:
    """Write results to a file, if one is wanted, and say if they should be printed, too.

    Call this before printing them, so that a broken pipe cannot lose them.
    """
    if path is not None:
        write_text(path, strict_json(value, indent=2)[0] + "\n")
    return path is None or not is_standard(path)


def print_table(title: str, rows: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Print one line for each encoder, task and figure.

    Args:
        title: Title of the table.
        rows: Encoder -> task -> figures. A figure may come with its interval or its standard deviation. The table also
            shows the number of queries, pairs, conversations or messages, and of labels.
    """
    lines = []
    for encoder, tasks in rows.items():
        for task, figures in tasks.items():
            count = str(next(figures[name] for name in _COUNTS if name in figures))
            count += f", {figures['labels']} labels" if "labels" in figures else ""
            digits = 3 if task == "alignment_uniformity" else 1  # all others are percentages
            for name, value in figures.items():
                if isinstance(value, float) and not name.endswith("_std"):
                    shown = (_figure(name), f"{value:.{digits}f}", _spread(figures, name))
                    lines.append([encoder, task.replace("_", " "), *shown, count])
    print_rows(["encoder", "task", "figure", "value", "95 % interval or ± deviation", "n"], lines, title)


def print_modes(title: str, modes: dict[str, dict[str, Any]], metric: str) -> None:
    """Print a line for each way of scoring: its figures with 95 % intervals, and a metric by context length."""
    digits = 3 if metric == "difference" else 1  # a difference of cosines; the other figures are ranks and percentages
    first = next(iter(modes.values()))
    names = [name for name, value in first.items() if isinstance(value, float)]
    lines = []
    for mode, figures in modes.items():
        cells = (f"{figures[name]:.{digits}f} ({_spread(figures, name, digits)})" for name in names)
        lines.append([mode, *cells, str(figures["queries"])])
    print_rows(["scored by", *map(_figure, names), "n"], lines, title)
    if lengths := first.get("by_context_length"):
        parts = {mode: figures["by_context_length"].values() for mode, figures in modes.items()}
        lines = [[mode, *(f"{part[metric]:.{digits}f}" for part in own)] for mode, own in parts.items()]
        print_rows(["scored by", *lengths], lines, f"{_figure(metric)} by turns of the context")


def print_hits(hits: list[dict[str, Any]]) -> None:
    """Print what a search of a store found, the best first."""
    lines = []
    for hit in hits:
        turn, role = hit.get("turn", f"of {hit.get('turns')}"), hit.get("role", "")
        lines.append([f"{hit['score']:.3f}", hit["conversation"], str(turn), role, hit["text"]])
    print_rows(["score", "conversation", "turn", "role", "text"], lines)


def print_pairs(title: str, pairs: list[tuple[str, str]]) -> None:
    """Print names and their values; a name that occurs several times in a row is printed once."""
    table = Table(Column(no_wrap=True), Column(overflow="fold"), title=title, title_justify="left", show_header=False)
    before = None
    for name, value in pairs:
        table.add_row("" if name == before else name, value)
        before = name
    console.print(table)


def print_rows(columns: list[str], rows: list[list[str]], title: str | None = None) -> None:
    """Print a table that wraps long cells and never truncates them."""
    table = Table(*(Column(name, overflow="fold") for name in columns), title=title, title_justify="left")
    for cells in rows:
        table.add_row(*cells)
    console.print(table)


def _figure(name: str) -> str:
    return name.upper() if len(name) == 3 else name.replace("_", " ")


def _spread(figures: dict[str, Any], name: str, digits: int = 1) -> str:
    """The interval or the standard deviation of a figure, where it has one."""
    if f"{name}_interval" in figures:
        low, high = figures[f"{name}_interval"]
        return f"{low:.{digits}f} – {high:.{digits}f}"
    return f"± {figures[f'{name}_std']:.1f}" if f"{name}_std" in figures else ""
