"""Lists of texts that users give: a single text, which Python takes for a list of its letters, is refused."""

from __future__ import annotations

import os
from collections.abc import Iterable


def refuse_single(given: object, name: str) -> None:
    """Raise ``TypeError`` if a single text or path was given in the place of a list of them.

    Args:
        given: What the user gave.
        name: The parameter, for the message.
    """
    if isinstance(given, str | bytes | os.PathLike):
        raise TypeError(f"{name}: expected a list, got the single {given!r:.60}: put it in a list, {name}=[…]")


def listed(given: Iterable[str], name: str) -> list[str]:
    """Texts as a list.

    Args:
        given: What the user gave.
        name: The parameter, for the message.

    Raises:
        TypeError: It is a single text, no list at all, or one of its items is no text.
    """
    refuse_single(given, name)
    if not isinstance(given, Iterable):
        raise TypeError(f"{name}: expected a list of texts, got {given!r:.60}")
    texts = list(given)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                f"{name}: expected texts, got {text!r:.60} at position {place}: leave it out or make it a text"
            )
    return texts
