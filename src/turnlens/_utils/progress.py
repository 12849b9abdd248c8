"""The terminal: results on its output, messages and progress bars on its error stream."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.logging import RichHandler
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from typing_extensions import override

from turnlens._utils.text_values import printable

Advance = Callable[[int], None]  # called with how many more items are done


class SafeConsole(Console):
    """A console whose texts are all `printable`: those of users, names of files, and messages of libraries."""

    @override
    def render(self, *args: Any, **kwargs: Any) -> Iterator[Segment]:
        for segment in super().render(*args, **kwargs):
            # rich moves the cursor of its progress bars by control segments, which must stay
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


# Markup is off: users' names, paths and texts are printed as they are. Without a terminal, lines are not wrapped.
console = SafeConsole(markup=False, highlight=False)
if not console.is_terminal:
    console = SafeConsole(markup=False, highlight=False, width=200)
error_console = SafeConsole(stderr=True, markup=False, highlight=False)
_quiet = False
_SECONDS_PER_LINE = 30


def set_quiet(quiet: bool) -> None:
    """Choose whether to show results and errors only, without notes and progress."""
    global _quiet
    _quiet = quiet


def shows_progress() -> bool:
    """Return true if progress is wanted and there is a terminal to show it on."""
    return error_console.is_terminal and not _quiet


def note(text: str) -> None:
    """Print a note on the error stream, so that results can be piped."""
    if not _quiet:
        error_console.print(text, soft_wrap=True)


def show(text: str, apart: bool = False) -> None:
    """Print a result; ``apart``, on the error stream, if a table is written to the standard output."""
    (error_console if apart else console).print(text, soft_wrap=True)


def log_handler() -> logging.Handler:
    """Return a handler that shows log messages on the error stream."""
    return RichHandler(logging.NOTSET, error_console, show_time=False, show_path=False)


class _ProgressBar(Progress):
    """A progress bar that, where there is no terminal, writes a line now and then."""

    _reported_at = 0.0

    @override
    def start(self) -> None:
        super().start()
        self._reported_at = time.monotonic()

    @override
    def update(self, task_id: TaskID, **changes: Any) -> None:
        super().update(task_id, **changes)
        task = self._tasks[task_id]
        if self.disable and task.visible and time.monotonic() - self._reported_at >= _SECONDS_PER_LINE:
            self._reported_at = time.monotonic()
            note(f"{task.description}: {self._told(task)}")

    def _told(self, task: Task) -> str:
        if any(isinstance(column, TaskProgressColumn) for column in self.columns):
            return f"{task.percentage:.0f} % of all"
        return f"{task.completed:,.0f}" + (f" of {task.total:,.0f}" if task.total else "")

    @override
    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        self.update(task_id, advance=advance)


class _Phases:
    """The bar of a job in phases, see `phases`."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar, self._task = bar, task
        self._before = self._work = self._share = 0.0

    def begin(self, work: float) -> None:
        """Go on to a phase with this work."""
        self._before, self._work, self._share = self._before + self._work, work, 0.0
        self._bar.update(self._task, completed=self._before)

    def report(self, share: float, description: str) -> None:
        """Show that a share of the phase is done; a bar within it that starts anew does not move back."""
        self._share = max(self._share, share)
        self._bar.update(self._task, completed=self._before + self._share * self._work, description=description)


_phases: _Phases | None = None


class _PhaseBar(Progress):
    """A bar within a phase, which moves the bar of the job."""

    @override
    def update(self, task_id: TaskID, **changes: Any) -> None:
        super().update(task_id, **changes)
        task = self._tasks[task_id]
        if _phases is not None and task.visible and task.total:
            _phases.report(task.completed / task.total, task.description)

    @override
    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        self.update(task_id, advance=advance)


@contextmanager
def phases(work: float, show: bool = True) -> Iterator[Callable[[float], None]]:
    """Inside the block, one bar over all phases of a job; bars within it only move that one.

    Args:
        work: The work of all phases, in any unit.
        show: Show the bar; without a terminal, a line every 30 seconds.

    Yields:
        The function that begins a phase with its work.
    """
    global _phases
    if not show:
        yield lambda work: None
        return
    columns = (BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    bar = _ProgressBar(
        TextColumn("{task.description}"), *columns, console=error_console, transient=True, disable=not shows_progress()
    )
    with bar:
        outer, _phases = _phases, _Phases(bar, bar.add_task("starting", total=work or 1))
        try:
            yield _phases.begin
        finally:
            _phases = outer


def progress_bar(show: bool = True) -> Progress:
    """A progress bar with counts and times that disappears when done; without a terminal, a line every 30 seconds."""
    if _phases is not None and show:
        return _PhaseBar(disable=True)
    return (_ProgressBar if show else Progress)(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=SafeConsole(stderr=True),
        transient=True,
        disable=not (show and shows_progress()),
    )


@contextmanager
def progress_of(description: str, total: int | None, visible: bool = True) -> Iterator[Callable[[int], None]]:
    """Inside the block, a progress bar, and the function that tells it how many more items are done."""
    with progress_bar() as bar:
        task = bar.add_task(description, total=total, visible=visible)
        yield lambda count: bar.advance(task, count)


def silent(count: int) -> None:
    """Report no progress."""
