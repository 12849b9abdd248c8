"""What the commands share: options, reading, errors and tables."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Column, Table
from typer.core import TyperGroup

from turnwise._utils.progress import console, error_console


class Commands(TyperGroup):
    """The commands; errors of the user's making are one line, and Ctrl-C ends cleanly."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            error_console.print(
                "Stopped. What is finished is kept where the command has --resume: run it again with that."
            )
            raise typer.Exit(130) from None
        except (ValueError, OSError, ImportError) as error:
            error_console.print(f"error: {error}", style="red", soft_wrap=True)
            raise typer.Exit(1) from None


Data = Annotated[list[Path], typer.Argument(help="Files, folders or globs of conversations.", show_default=False)]
FormatName = Annotated[str, typer.Option("--format", help="Source format; by default told from the content.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad-rows", help="Leave out bad rows and list them at the end.")]
OutputFolder = Annotated[Path, typer.Option("--output", "-o", help="Folder to write the model to.")]
Encoder = Annotated[str | None, typer.Option(help="Encoder to start from: a folder or a Hub name.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue an unfinished run of this output.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output and forget an unfinished run.")]
MaxSteps = Annotated[int | None, typer.Option(help="Number of steps; by default whole epochs.")]
Epochs = Annotated[float | None, typer.Option(help="Passes over the data.")]
BatchSize = Annotated[int | None, typer.Option(help="Rows per step.")]
Pooling = Annotated[
    str, typer.Option(help="Of whole conversations: mean, interlocutor, or speaker:ROLE for one speaker's words.")
]
LearningRate = Annotated[float | None, typer.Option(help="Peak learning rate.")]
Picture = Annotated[Path, typer.Option("--output", "-o", help="The PNG file to write.")]


def read_data(data: list[Path], format: str, skip_bad_rows: bool) -> Any:
    from turnwise.data.conversations import read_conversations

    return read_conversations(data, format, on_error(skip_bad_rows))


def on_error(skip_bad_rows: bool) -> Literal["raise", "skip"]:
    return "skip" if skip_bad_rows else "raise"


def given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def parse_settings(assignments: list[str]) -> dict[str, Any]:
    """``name=value`` with TOML values; a bare word is text."""
    settings = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise ValueError(f"--set {assignment}: expected name=value, such as --set temperature=0.05")
        try:
            settings[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            settings[name.strip()] = value
    return settings


def write_json(path: Path, value: Any) -> None:
    """Write what was found; before it is printed, so that no broken pipe loses it."""
    from turnwise._utils.files import atomic_path

    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def whole_columns(*names: str, title: str | None = None) -> Table:
    """A table that breaks what does not fit into lines and never cuts it off."""
    return Table(*(Column(name, overflow="fold") for name in names), title=title, title_justify="left")


def print_table(title: str, rows: dict[str, dict[str, dict[str, Any]]]) -> None:
    """One line for each encoder, task and figure, with how sure it is and the number of queries, pairs or dialogues."""
    table = whole_columns("encoder", "task", "figure", "value", "95 % interval or ± deviation", "n", title=title)
    for encoder, tasks in rows.items():
        for task, figures in tasks.items():
            count = figures.get("queries", figures.get("pairs", figures.get("dialogues")))
            digits = 3 if task == "alignment_uniformity" else 1  # all others are percentages
            for name, value in figures.items():
                if isinstance(value, float) and not name.endswith("_std"):
                    table.add_row(
                        encoder,
                        task.replace("_", " "),
                        _figure(name),
                        f"{value:.{digits}f}",
                        _spread(figures, name),
                        str(count),
                    )
    console.print(table)


def print_modes(title: str, modes: dict[str, dict[str, Any]], metric: str) -> None:
    """One line for each way of scoring: its figures with 95 % intervals, and the metric by context length."""
    digits = 3 if metric == "difference" else 1  # of cosines; the others are ranks and percentages
    some = next(iter(modes.values()))
    names = [name for name, value in some.items() if isinstance(value, float)]
    table = whole_columns("scored by", *map(_figure, names), "n", title=title)
    for mode, figures in modes.items():
        cells = (f"{figures[name]:.{digits}f} ({_spread(figures, name, digits)})" for name in names)
        table.add_row(mode, *cells, str(figures["queries"]))
    console.print(table)
    if lengths := some.get("by_context_length"):
        title = f"{_figure(metric)} by turns of the context"
        table = whole_columns("scored by", *lengths, title=title)
        for mode, figures in modes.items():
            table.add_row(mode, *(f"{one[metric]:.{digits}f}" for one in figures["by_context_length"].values()))
        console.print(table)


def _figure(name: str) -> str:
    return name.upper() if len(name) == 3 else name.replace("_", " ")


def _spread(figures: dict[str, Any], name: str, digits: int = 1) -> str:
    """The interval or the standard deviation of a figure, where it has one."""
    if f"{name}_interval" in figures:
        low, high = figures[f"{name}_interval"]
        return f"{low:.{digits}f} – {high:.{digits}f}"
    return f"± {figures[f'{name}_std']:.1f}" if f"{name}_std" in figures else ""


def quiet_transformers() -> None:
    """No bars for reading and writing weights between our own. Not at start-up: the import takes a second."""
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
