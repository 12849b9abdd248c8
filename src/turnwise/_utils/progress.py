"""The terminal: results on its output, messages and progress bars on its error stream."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.logging import RichHandler
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.segment import Segment
from typing_extensions import override

# What terminals obey instead of showing it (C0 and C1 without tab and line break).
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class SafeConsole(Console):
    """A console on which texts of users' data and names of files cannot give the terminal orders."""

    @override
    def render(self, *args: Any, **kwargs: Any) -> Iterator[Segment]:
        for segment in super().render(*args, **kwargs):
            # rich's own orders, which move the cursor of progress bars, are control segments
            yield segment if segment.control else Segment(_CONTROL.sub("\ufffd", segment.text), segment.style)


# No markup: users' names, paths and texts are printed as they are. Wide where no terminal wraps the lines.
console = SafeConsole(markup=False, highlight=False)
if not console.is_terminal:
    console = SafeConsole(markup=False, highlight=False, width=200)
error_console = SafeConsole(stderr=True, markup=False, highlight=False)
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


def log_handler() -> logging.Handler:
    """What shows log messages on the error stream."""
    return RichHandler(logging.NOTSET, error_console, show_time=False, show_path=False)


def progress_bar(show: bool = True) -> Progress:
    """A progress bar with counts and times; it disappears when done, and is silent where there is no terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=SafeConsole(stderr=True),
        transient=True,
        disable=not (show and shows_progress()),
    )
