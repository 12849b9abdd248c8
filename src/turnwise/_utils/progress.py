"""The terminal: results on its output, messages and progress bars on its error stream."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

# No markup: users' names, paths and texts are printed as they are. Wide where no terminal wraps the lines.
console = Console(markup=False, highlight=False)
if not console.is_terminal:
    console = Console(markup=False, highlight=False, width=200)
error_console = Console(stderr=True, markup=False, highlight=False)
_quiet = False


def set_quiet(quiet: bool) -> None:
    """Whether to show results and errors only: neither notes nor progress."""
    global _quiet
    _quiet = quiet


def shows_progress() -> bool:
    """Whether progress is to be shown, and there is a terminal to show it on."""
    return error_console.is_terminal and not _quiet


def note(text: str) -> None:
    """Tell what has been done, on the error stream, so that results can be piped."""
    if not _quiet:
        error_console.print(text, soft_wrap=True)


def progress_bar(show: bool = True) -> Progress:
    """A progress bar with counts and times; it disappears when done, and is silent where there is no terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not (show and shows_progress()),
    )
