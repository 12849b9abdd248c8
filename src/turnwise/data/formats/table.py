"""Tables with one message per row: CSV, TSV, Parquet or JSONL.

The columns of the conversation's id, the speaker, the text and optionally the time or order are found by their usual
names. The rows of a conversation may be scattered through the file: they are gathered in a temporary database on
disk (in the system's temporary folder, about as large as the file), so memory stays small whatever the file's size.
Messages are ordered by the time column if there is one, otherwise they stay in file order; the column itself is not
kept. A further column is a label of the conversation if it never changes within any conversation of the file, otherwise
a label of the messages.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from turnwise.data.reading.format import Format, Head
from turnwise.data.reading.source import BadRow, Source, parse_record
from turnwise.errors import ConversationError

# The first name found wins.
_NAMES = {
    "conversation": "conversation_id dialogue_id dialog_id session_id chat_id thread_id conv_id ticket_id call_id "
    "conversation dialogue dialog session thread",
    "speaker": "speaker role from author sender speaker_id sender_id author_id participant",
    "text": "text content message utterance body sentence",
    "order": "timestamp time datetime created_at date turn order turn_id turn_index turn_number message_id "
    "utterance_id index position",
}


class Columns(NamedTuple):
    """The names of the columns that matter."""

    conversation: str
    speaker: str
    text: str
    order: str | None


class Group(NamedTuple):
    """The rows of one conversation with their line numbers, in file order."""

    columns: Columns
    message_labels: frozenset[str]
    rows: list[tuple[int, dict[str, Any]]]


def _plain_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()).strip("_")


def _find_columns(names: Iterable[str]) -> Columns | None:
    by_plain_name = {_plain_name(name): name for name in names}
    found = {part: [n for n in known.split() if n in by_plain_name] for part, known in _NAMES.items()}
    if not (found["conversation"] and found["speaker"] and found["text"]):
        return None
    return Columns(*(by_plain_name[found[part][0]] if found[part] else None for part in _NAMES))  # type: ignore[arg-type]


def records(source: Source) -> Iterator[tuple[int, Group | BadRow]]:
    """Conversations gathered from rows that may be scattered through the file, after the rows that are bad."""
    columns = None
    with closing(sqlite3.connect("")) as database:  # "" is a temporary file that SQLite removes
        database.execute("CREATE TABLE rows (conversation TEXT, number INTEGER, row TEXT)")
        for number, raw in source.records():
            source.tick()
            try:
                row = parse_record(raw)
                columns = columns or _find_columns(row)
                if columns is None:
                    problem = f"found the columns {', '.join(row)}; expected {FORMAT.layout}"
                    raise ConversationError(str(source.path), problem)
                conversation = row.get(columns.conversation)
                if conversation is None or conversation == "":
                    raise BadRow(f"no conversation id in the column {columns.conversation!r}")
            except BadRow as problem:
                yield number, problem
                continue
            row_text = json.dumps(row, default=str)
            database.execute("INSERT INTO rows VALUES (?, ?, ?)", (json.dumps(str(conversation)), number, row_text))
        if columns is None:
            return
        message_labels = frozenset().union(*map(_changing, _groups(database))) - set(columns)
        for rows in _groups(database):
            yield rows[0][0], Group(columns, message_labels, rows)


def _groups(database: sqlite3.Connection) -> Iterator[list[tuple[int, dict[str, Any]]]]:
    """The rows of each conversation, conversations in the order of their first rows."""
    query = "SELECT MIN(number) OVER (PARTITION BY conversation) AS first, number, row FROM rows ORDER BY first, number"
    for _, rows in groupby(database.execute(query), key=itemgetter(0)):
        yield [(number, json.loads(row)) for _, number, row in rows]


def _changing(rows: list[tuple[int, dict[str, Any]]]) -> set[str]:
    first = rows[0][1]
    return {name for _, row in rows for name in row.keys() | first.keys() if row.get(name) != first.get(name)}


def _moment(value: Any, column: str, number: int) -> tuple[float, bool]:
    """A number or an ISO time as a number, and whether it was a time."""
    try:
        return float(value), False
    except (TypeError, ValueError):
        pass
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise BadRow(f"found {value!r} in {column!r}; expected a number or an ISO 8601 time", number) from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp(), True


def convert(raw: Group | BadRow, source: Source) -> dict[str, Any]:
    """Sorts the messages if there is a column to sort by, and divides the labels between them and the conversation."""
    if isinstance(raw, BadRow):
        raise raw
    columns, rows = raw.columns, raw.rows
    if columns.order is not None:
        moments = [_moment(row.get(columns.order), columns.order, number) for number, row in rows]
        if len({is_time for _, is_time in moments}) > 1:
            raise BadRow(f"found both numbers and times in {columns.order!r}; write them in one way")
        rows = [row for _, row in sorted(zip(moments, rows), key=itemgetter(0))]
    messages: list[dict[str, Any]] = []
    labels: dict[str, Any] = {}
    for number, row in rows:
        speaker, text = row.get(columns.speaker), row.get(columns.text)
        if speaker is None or speaker == "":
            raise BadRow(f"no speaker in the column {columns.speaker!r}", number)
        if not isinstance(text, str):
            raise BadRow(f"expected text in the column {columns.text!r}, found {json.dumps(text)}", number)
        message = {"role": str(speaker), "content": text}
        for name, value in row.items():
            if name not in columns and value not in ("", None):
                (message if name in raw.message_labels else labels)[name] = value
        messages.append(message)
    return {**labels, "id": str(rows[0][1][columns.conversation]), "messages": messages}


def matches(head: Head) -> bool:
    """Names are compared in lower case with underscores: ``SessionID`` counts as ``session_id``."""
    return _find_columns(head.keys) is not None


FORMAT = Format(
    name="table",
    description="one message a row with columns for conversation, speaker and text (CSV, TSV, Parquet, JSONL)",
    layout="a column for the conversation (such as conversation_id), one for the speaker (such as speaker) and one for "
    "the text (such as text)",
    records=records,
    convert=convert,
    matches=matches,
)
