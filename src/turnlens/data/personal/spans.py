"""Spans: the start and end of something in a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Span = tuple[int, int]  # start and end in the text
Finder = Callable[[str], Iterable[Span]]

# Chinese and Japanese are written without spaces: such a letter beside another is no part of its word.
_UNSPACED = r"\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
LETTER = rf"[^\W{_UNSPACED}]"  # or digit
# Where a number may begin: not within a word, a decimal, a time or an amount; but after a whole number and a comma.
NUMBER_START = r"(?<![A-Za-z\d_])(?<!\d[./-])(?<!\b\d[,:])(?<!\b\d\d[,:])(?<!\b\d\d\d,)"


def covered(text: str, spans: Iterable[Span]) -> str:
    """The text with recognised spans replaced by neutral signs, so that nothing else is recognised there."""
    parts, done = [], 0
    for start, end in sorted(spans):
        if end > done:
            start = max(start, done)
            parts += [text[done:start], "|" * (end - start)]
            done = end
    return "".join(parts) + text[done:]
