"""Tables with one message per row: CSV, TSV, Excel, Parquet or JSONL; and records whose fields the user names.

The columns of the conversation's id, the speaker, the text and optionally the time or order are found by their usual
names, or are those the user names (`Columns`). Without speakers, each row is a text of its own; with speakers and times
that the user names, and no id, the file is one conversation. The rows of a conversation may be scattered through the
file: they are gathered in a temporary database on disk (in the system's temporary folder, about as large as the file),
so memory stays small whatever the file's size. Messages are ordered by the time column if there is one, and keep the
time as the label ``time`` (``start``, in seconds, where there is no day); otherwise they stay in file order. A message
whose cell of the time is empty stays behind the one before it. A further column is a label of the conversation if it
never changes within any conversation of the file, otherwise a label of the messages. A row that such a column
(``public``, ``internal``, ``visibility``) tells to be for colleagues alone is a note.

Grammar of CSV: RFC 4180; the delimiter is the one of comma, tab and semicolon that the header has most of,
or the one of a first line ``sep=;``.

`nested` reads records that are whole conversations: ``{"ticket": {"id": 7, "comments": [{"author": {"type": "agent"},
"body": "…", "at": "…"}]}}`` with the columns ``conversation=ticket.id,messages=ticket.comments,speaker=author.type,
text=body,time=at``. The list may also be JSON in the cell of a table; all else becomes labels.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from turnlens.errors import ConversationError
from turnlens.formats.bad_input import RECORD, BadRow, parse_record
from turnlens.formats.column_names import plain_name
from turnlens.formats.columns import NO_COLUMNS, Columns, check_present, columns_known, find_columns, value_at, without
from turnlens.formats.format import PAGES, Format, any_records
from turnlens.formats.html_text import without_markup
from turnlens.formats.message_times import DateOrder
from turnlens.formats.raw_messages import RawMessage, message_rows, named_labels
from turnlens.formats.source_file import Source

_PAGES = (*PAGES.split(), "messages", "events")
_YES, _NO = frozenset(("true", "1", "yes")), frozenset(("false", "0", "no"))
# By the plain name of a column, the values that tell an internal note.
_OF_NOTES = dict.fromkeys(("public", "is_public"), _NO) | dict.fromkeys(
    ("internal", "is_internal", "internal_note", "private", "is_private"), _YES
)
_OF_NOTES |= dict.fromkeys(
    ("visibility", "type", "message_type"),  # such as message_type in exports of Intercom
    frozenset(("internal", "private", "note", "internal note", "private note", "internal_note", "private_note")),
)


_ROUNDED = re.compile(r"\d([.,]\d+)?E\+\d+", re.IGNORECASE)
_ROUNDED_IDS = (
    "ids in {!r} such as {}: a spreadsheet rounded them, so that different conversations have one id; export the table "
    "anew from where it was made, and do not save it in a spreadsheet, or only with this column as text"
)


# In the order of their first rows.
_GROUPS = """
with groups as (select conversation, min(number) as first from rows group by conversation having {})
select conversation, number, row from groups join rows using (conversation) order by first, number, rows.rowid
"""


@contextmanager
def waiting_rows() -> Iterator[sqlite3.Connection]:
    """A database with the empty table ``rows`` of conversation, number and row."""
    with closing(sqlite3.connect("")) as database:  # "" is a temporary file that SQLite removes
        database.execute("create table rows (conversation text, number integer, row)")
        yield database


def groups_of(database: sqlite3.Connection, those: str = "true") -> Iterator[tuple[str, list[tuple[int, Any]]]]:
    """Each conversation with its rows and their numbers; only ``those`` that fulfil a condition of SQL on the group."""
    database.execute("create index if not exists by_conversation on rows (conversation)")
    for conversation, rows in groupby(database.execute(_GROUPS.format(those)), itemgetter(0)):
        yield conversation, [(number, row) for _, number, row in rows]


class Group(NamedTuple):
    """The rows of one conversation, in file order; a number where there is no id."""

    conversation: str | int
    columns: Columns
    dates: DateOrder
    message_labels: frozenset[str]
    rows: list[RawMessage]


def records(source: Source, chosen: Columns = NO_COLUMNS) -> Iterator[tuple[int, Group | BadRow]]:
    """Conversations gathered from rows that may be scattered through the file, after the rows that are bad."""
    columns, dates, rounded = None, DateOrder(), None
    with waiting_rows() as database:
        for number, raw in any_records(source):
            source.tick()
            source.budget.spend(RECORD, "the number of rows")
            try:
                row = parse_record(raw)
                if not any(value not in (None, "") for value in row.values()):  # as in CSV, where readers pass it over
                    continue
                columns = columns or _resolved(source, row, chosen)
                conversation, messages = _messages(row, columns, dates, number)
            except BadRow as problem:
                yield number, problem
                continue
            for message in messages:
                text = json.dumps(message[1:], default=str)
                database.execute("INSERT INTO rows VALUES (?, ?, ?)", (json.dumps(conversation), number, text))
            if rounded is None and _ROUNDED.fullmatch(str(conversation)):
                rounded = conversation
        if columns is None:
            return
        if rounded is not None:
            source.warn(_ROUNDED_IDS.format(columns.conversation, rounded))
        if dates.is_unclear:
            source.warn(f"dates such as {dates.example} are read as month, day, year; write 2024-05-31")
        message_labels = frozenset().union(*(_changing(rows) for _, rows in _groups(database)))
        for conversation, rows in _groups(database):
            yield rows[0].number, Group(conversation, columns, dates, message_labels, rows)


def columns_read(source: Source, chosen: Columns | None = None) -> Columns:
    """The columns of a table that will be read.

    Raises:
        ConversationError: A column is unclear, or the table is empty.
    """
    for _, raw in any_records(source):
        if not isinstance(raw, BadRow):
            return _resolved(source, parse_record(raw), chosen or NO_COLUMNS)
    raise ConversationError(source.name, "no row of the table can be read")


def _resolved(source: Source, row: dict[str, Any], chosen: Columns) -> Columns:
    try:
        if source.ending in (".csv", ".tsv", ".parquet", ".xlsx"):
            check_present(chosen, row)
        return find_columns(row, chosen, example=row)
    except ValueError as problem:
        raise ConversationError(source.name, str(problem)) from None


def _messages(
    row: dict[str, Any], columns: Columns, dates: DateOrder, number: int
) -> tuple[str | int, list[RawMessage]]:
    """The conversation's id and the messages of a row."""
    conversation: Any = 0 if columns.are_of_one_conversation else number
    if columns.conversation is not None:
        conversation = value_at(row, columns.conversation)
    if conversation is None or conversation == "":
        raise BadRow(f"no conversation id in the column {columns.conversation!r}")
    messages = RawMessage.of(row, columns, number, dates, (columns.conversation,))
    if columns.conversation is None:
        return conversation, messages
    if isinstance(conversation, float) and conversation.is_integer():  # as data frames keep numbers if one is missing
        conversation = int(conversation)
    return str(conversation), messages


def _groups(database: sqlite3.Connection) -> Iterator[tuple[str | int, list[RawMessage]]]:
    """The rows of each conversation, conversations in the order of their first rows."""
    for conversation, rows in groups_of(database):
        yield json.loads(conversation), [RawMessage(number, *json.loads(row)) for number, row in rows]


def _changing(rows: list[RawMessage]) -> set[str]:
    first = rows[0].labels
    return {
        name for row in rows for name in row.labels.keys() | first.keys() if row.labels.get(name) != first.get(name)
    }


@lru_cache  # all conversations of a file have the same labels
def _of_notes(names: frozenset[str]) -> dict[str, frozenset[str]]:
    """The values that tell internal notes, by the labels of messages that have such values."""
    return {name: _OF_NOTES[plain] for name in names if (plain := plain_name(name)) in _OF_NOTES}


def convert(raw: Group, source: Source) -> dict[str, Any] | None:
    """Sort the messages by the time column, and divide the labels between them and the conversation.

    Returns None for a row that is its own conversation but has no text, such as a question without an answer.
    """
    of_messages = raw.message_labels
    labels = {name: value for name, value in raw.rows[0].labels.items() if name not in of_messages}
    rows = [
        row._replace(labels={name: value for name, value in row.labels.items() if name in of_messages})
        for row in raw.rows
    ]
    messages = message_rows(rows, raw.columns, raw.dates)
    of_notes = _of_notes(of_messages)
    for message in messages:
        message["content"] = without_markup(message["content"])
        if any(str(message.get(name)).lower() in values for name, values in of_notes.items()):
            message["note"], message["content"] = message["content"], ""
    identifier = raw.conversation if isinstance(raw.conversation, str) else None
    if identifier is None and not any(message["content"].strip() for message in messages):
        return None
    return {**named_labels(labels, ("id", "messages")), "id": identifier, "messages": messages}


FORMAT = Format(
    name="table",
    description="one message a row with columns for conversation, speaker and text (CSV, TSV, Excel, Parquet, JSONL)",
    layout="a column for the conversation (such as conversation_id), one for the speaker (such as speaker) and one for "
    "the text (such as text)",
    records=records,
    convert=convert,
    # the usual names of columns, in lower case with underscores: SessionID counts as session_id
    matches=lambda head: any(map(columns_known, (head.keys, *(head.inner.get(page, ()) for page in _PAGES)))),
)


def table_of(columns: Columns) -> Format:
    """The format of tables with these columns."""
    return replace(FORMAT, records=partial(records, chosen=columns))


def nested(columns: Columns) -> Format:
    """The format of records with these fields; it is never detected."""
    return Format(
        name="nested",
        description=f"conversations with the fields {columns}",
        layout=f"records that hold a list of messages under {columns.messages}",
        records=partial(any_records, besides=(columns.messages or "").split(".")[0]),
        convert=partial(_nested, chosen=columns),
        matches=lambda head: False,
    )


def _nested(raw: Any, source: Source, chosen: Columns) -> dict[str, Any]:
    record = parse_record(raw)
    messages = _listed(record, chosen)
    if not messages:
        return {"messages": []}
    names = dict.fromkeys(name for message in messages for name in message)
    dates = DateOrder()
    try:
        columns = find_columns(names, chosen, whole_conversations=True, example=messages[0])
    except ValueError as problem:
        raise BadRow(str(problem)) from None
    rows = [row for message in messages for row in RawMessage.of(message, columns, 0, dates)]
    used = [path for path in (chosen.conversation, chosen.messages, *chosen.ignore) if path]
    labels = named_labels(without(record, used), ("id", "messages"))
    identifier = value_at(record, chosen.conversation) if chosen.conversation else record.get("id")
    return {**labels, "id": identifier, "messages": message_rows(rows, columns, dates)}


def _listed(record: dict[str, Any], columns: Columns) -> list[dict[str, Any]]:
    messages = value_at(record, columns.messages)
    if isinstance(messages, str):
        try:
            messages = json.loads(messages)
        except (ValueError, RecursionError):
            raise BadRow(f"the column {columns.messages!r} holds text that is no JSON list of messages") from None
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        names = ", ".join(record)
        raise BadRow(f"found no list of messages under {columns.messages!r}; the record has: {names}")
    return messages
