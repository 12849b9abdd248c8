"""Jing Dong Dialogue Corpus (``chat.txt``): one message a line, columns separated by tabs, with a header.

The columns include ``session_id``, ``waiter_send`` (1: the message is from customer service, 0: from the customer) and
``content``, the last. The lines of a session are consecutive. Texts are not quoted, and a tab in one is part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from turnlens.errors import ConversationError
from turnlens.formats.bad_input import BadRow
from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import Source

_ROLES = {"0": "user", "1": "assistant"}
_NEEDED = ("session_id", "waiter_send", "content")

Line = tuple[int, dict[str, str] | BadRow]


def records(source: Source) -> Iterator[tuple[int, list[Line]]]:
    """Sessions of consecutive lines; a file without the header is refused as a whole."""
    # surrogateescape keeps bytes that are not UTF-8, so that the rows they are in can be named or skipped
    lines = ((number, raw.decode("utf-8", "surrogateescape").rstrip("\r\n")) for number, raw in source.lines())
    header = next(lines, (1, ""))[1].split("\t")
    if not _is_header(header):
        raise ConversationError(source.name, f"found the columns {', '.join(header)}; expected {FORMAT.layout}")
    rows = ((number, _cells(line, header)) for number, line in lines)
    for _, session in groupby(rows, key=_session):
        messages = list(session)
        yield messages[0][0], messages


def _cells(line: str, header: list[str]) -> dict[str, str] | BadRow:
    cells = line.split("\t", len(header) - 1)
    if len(cells) == len(header):
        return dict(zip(header, cells))
    return BadRow(f"found {len(cells)} columns; expected {len(header)} as in the header")


def _session(line: Line) -> str | int:
    number, row = line
    return number if isinstance(row, BadRow) else row["session_id"]


def convert(raw: list[Line], source: Source) -> dict[str, Any]:
    """Leaves the other columns out: who the customer was, and flags of the collection."""
    messages, session = [], ""
    for number, row in raw:
        if isinstance(row, BadRow):
            raise row
        if row["waiter_send"] not in _ROLES:
            raise BadRow(f"found {row['waiter_send']!r} in waiter_send; expected 0 or 1", number)
        session = row["session_id"]
        messages.append({"role": _ROLES[row["waiter_send"]], "content": row["content"]})
    return {"id": session, "messages": messages}


def _is_header(columns: list[str]) -> bool:
    return set(_NEEDED) <= set(columns) and columns[-1] == "content"


def matches(head: Head) -> bool:
    """The header as a line, or as columns where the file's ending says that it is a table."""
    return _is_header(head.line.split("\t")) or set(_NEEDED) <= head.keys


FORMAT = Format(
    name="jddc",
    description="Jing Dong Dialogue Corpus, sessions (chat.txt)",
    layout="a header of columns separated by tabs: session_id, waiter_send (0 or 1), …, and content as the last",
    records=records,
    convert=convert,
    matches=matches,
)
