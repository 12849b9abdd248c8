"""Rows that are snapshots of one growing conversation, as assistants log them: each holds the whole history.

Only rows that share the id of a conversation are compared; where no column is named so, the ``id`` is it if it returns
among the first rows, as in requests of Vercel's AI SDK. One whose messages another repeats and continues is part of
that other one; edited and unlike histories stay apart.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain, islice
from operator import itemgetter
from typing import Any

from turnlens.errors import ConversationError
from turnlens.formats.bad_input import OTHER_LAYOUT, parse_value, value_or_problem
from turnlens.formats.call_sessions import beginnings
from turnlens.formats.columns import conversation_field
from turnlens.formats.table import groups_of, waiting_rows

Row = dict[str, Any]
_LOOKED_AT = 1000
_BYTES_LOOKED_AT = 1 << 26


def last_snapshots(
    rows: Iterator[tuple[int, Any]], convert: Callable[[Row], Row], answers: tuple[str, ...]
) -> Iterator[tuple[int, Any]]:
    """Return the rows that no other row continues: those without an id, with one of their own, and with a shared one.

    They wait in a temporary file, so that memory does not grow with the number of rows.

    Args:
        rows: Numbered rows.
        convert: From a row to one with plain messages, by which rows are compared.
        answers: The labels that hold the answer to the messages of their own row.
    """
    with waiting_rows() as database:
        damage: list[Exception] = []
        parsed = ((number, raw, value_or_problem(raw)) for number, raw in _until_damage(rows, damage))
        beginning, size = [], 0
        for item in islice(parsed, _LOOKED_AT):
            beginning.append(item)
            size += len(item[1]) if isinstance(item[1], bytes) else 0
            if size > _BYTES_LOOKED_AT:
                break
        ids = [str(row["id"]) for _, _, row in beginning if isinstance(row, dict) and row.get("id")]
        returns = len(set(ids)) < len(ids)
        for number, raw, row in chain(beginning, parsed):
            conversation = _shared(row, returns) if isinstance(row, dict) else None
            if conversation in (None, ""):
                yield number, row
                continue
            kept = raw if isinstance(raw, bytes) else json.dumps(row, default=str).encode()
            database.execute("insert into rows values (?, ?, ?)", (json.dumps(conversation, default=str), number, kept))
        for _, once in groups_of(database, "count(*) = 1"):
            yield from once
        for conversation, group in groups_of(database, "count(*) > 1"):
            many = [(number, parse_value(row)) for number, row in group]
            yield from _joined(many, conversation, convert, answers)
    for problem in damage:
        raise problem


def _until_damage(rows: Iterator[tuple[int, Any]], damage: list[Exception]) -> Iterator[tuple[int, Any]]:
    """Return the rows before the damage of a file that is cut off; the problem goes to ``damage``."""
    try:
        yield from rows
    except (*OTHER_LAYOUT, ConversationError, EOFError, OSError, zlib.error) as problem:
        damage.append(problem)


def _shared(row: Row, returns: bool) -> Any:
    """The id of a row's conversation: its own or that of its metadata, or its ``id`` where ids return."""
    for place in (row, row.get("metadata")):
        if isinstance(place, dict) and (name := conversation_field(place)) and place[name] not in (None, ""):
            return place[name]
    return row.get("id") if returns else None


def _joined(
    rows: list[tuple[int, Row]], conversation: str, convert: Callable[[Row], Row], answers: tuple[str, ...]
) -> list[tuple[int, Row]]:
    """The rows of a conversation that none other continues, each with the labels that only those before it have."""
    known = [_beginnings(row, convert) for _, row in rows]
    lengths = list(map(len, known))
    longest: dict[str, int] = {}  # by a beginning, the longest row that has it, and of equals the last
    for place in sorted(range(len(rows)), key=lambda place: (lengths[place], place), reverse=True):
        for beginning in known[place]:
            longest.setdefault(beginning, place)
    into = [longest[digests[-1]] if digests else place for place, digests in enumerate(known)]
    if all(lengths[place] == lengths[other] for place, other in enumerate(into)):
        return rows  # nothing grows
    kept: dict[int, tuple[int, Row]] = {}
    for place, other in sorted(enumerate(into), key=lambda pair: (lengths[pair[0]], pair[0])):
        number, row = rows[place]
        first, earlier = kept.get(other, (number, {}))
        filled = {name: value for name, value in row.items() if value not in (None, "")}
        earlier = {name: value for name, value in earlier.items() if name not in answers}
        kept[other] = min(first, number), {**earlier, **filled, "id": json.loads(conversation)}
    return sorted(kept.values(), key=itemgetter(0))


def _beginnings(row: Row, convert: Callable[[Row], Row]) -> list[str]:
    """A digest of each beginning of a row's messages; none for a row that cannot be read."""
    with suppress(*OTHER_LAYOUT):
        return beginnings(convert(dict(row))["messages"])
    return []
