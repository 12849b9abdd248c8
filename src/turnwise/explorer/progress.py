"""How long-running work reports its progress."""

from __future__ import annotations

from collections.abc import Callable

from rich.progress import Progress

Advance = Callable[[int], None]  # called with how many more items are done


def silent(count: int) -> None:
    """Report nothing."""


def advance_of(bar: Progress, description: str, total: int) -> Advance:
    """Add a line to a progress bar, and return the function that advances it."""
    task = bar.add_task(description, total=total)
    return lambda count: bar.advance(task, count)
