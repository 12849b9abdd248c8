"""How long-running work reports its progress."""

from __future__ import annotations

from collections.abc import Callable

Advance = Callable[[int], None]  # called with how many more items are done


def silent(count: int) -> None:
    """Report nothing."""
