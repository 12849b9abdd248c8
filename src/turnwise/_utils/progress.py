"""The terminal: results on its output, messages and progress bars on its error stream."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

# No markup: users' names, paths and texts are printed as they are. Wide where no terminal wraps the lines.
console = Console(markup=False, highlight=False)
if not console.is_terminal:
    console = Console(markup=False, highlight=False, width=200)
error_console = Console(stderr=True, markup=False, highlight=False)


def progress_bar(show: bool = True) -> Progress:
    """A progress bar with counts and times; it disappears when done, and is silent where there is no terminal."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not (show and console.is_terminal),
    )
