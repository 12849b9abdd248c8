"""Conversations whose messages form a tree, because a message was edited or an answer asked for again."""

from __future__ import annotations

from collections.abc import Mapping

from turnlens.formats.source_file import BadRow


def branch(last: str, parents: Mapping[str, str | None]) -> list[str]:
    """The messages from the root to ``last``.

    Args:
        last: A message.
        parents: The parent of every message; None, or a message that is not among them, above a root.

    Raises:
        BadRow: The messages go round in a circle.

    >>> branch("c", {"a": None, "b": "a", "b2": "a", "c": "b2"})
    ['a', 'b2', 'c']
    """
    path: dict[str, None] = {}
    at: str | None = last
    while at is not None and at in parents:
        if at in path:
            raise BadRow(f"message {at!r} comes before itself; expected a tree of messages")
        path[at] = None
        at = parents[at]
    return list(path)[::-1]
