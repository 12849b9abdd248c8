"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

from rich.progress import Progress

Advance = Callable[[int], None]  # told how many more are done


def silent(count: int) -> None:
    """Tell nobody."""


def advance_of(bar: Progress, description: str, total: int) -> Advance:
    """A new line of a progress bar."""
    task = bar.add_task(description, total=total)
    return lambda count: bar.advance(task, count)
