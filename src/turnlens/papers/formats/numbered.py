"""Text whose lines are numbered from 1 in each conversation (``1 …``, ``2 …``, ``1 …``), as in bAbI and ParlAI."""

from __future__ import annotations

from collections.abc import Iterator

from turnlens.formats.bad_input import BadRow
from turnlens.formats.source_file import Source

Line = tuple[int, str]


def blocks(source: Source) -> Iterator[tuple[int, list[Line]]]:
    """The lines of each conversation; a line numbered 1 begins the next."""
    block: list[Line] = []
    for line in source.text_lines():
        if line[1].startswith("1 ") and block:
            yield block[0][0], block
            block = []
        block.append(line)
    if block:
        yield block[0][0], block


def without_number(line: Line, layout: str) -> str:
    """The text after a line's number.

    Raises:
        BadRow: The line has none.
    """
    place, text = line
    number, _, rest = text.partition(" ")
    if not number.isdecimal():
        raise BadRow(f"found {text[:40]!r} without a number; expected {layout}", place)
    return rest
