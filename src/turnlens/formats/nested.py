"""Records that are whole conversations, whose fields the user names (`Columns` with ``messages``).

``{"ticket": {"id": 7, "comments": [{"author": {"type": "agent"}, "body": "…", "at": "…"}]}}`` is read with the columns
``conversation=ticket.id,messages=ticket.comments,speaker=author.type,text=body,time=at``. The list may also be JSON in
the cell of a table. What else a record or a message holds becomes its labels.
"""

from __future__ import annotations

import json
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

from turnlens.formats.api_pages import any_records
from turnlens.formats.columns import Columns, find_columns, value_at, without
from turnlens.formats.format import Format
from turnlens.formats.message_times import DateOrder
from turnlens.formats.raw_messages import RawMessage, message_rows, named_labels
from turnlens.formats.source_file import BadRow, Source, parse_record


def nested(columns: Columns) -> Format:
    """The format of records with these fields; it is never detected."""
    return Format(
        name="nested",
        description=f"conversations with the fields {columns}",
        layout=f"records that hold a list of messages under {columns.messages}",
        records=partial(any_records, besides=(columns.messages or "").split(".")[0]),
        convert=partial(_convert, given=columns),
        matches=lambda head: False,
    )


def _convert(raw: Any, source: Source, given: Columns) -> dict[str, Any]:
    record = parse_record(raw)
    messages = _messages(record, given)
    if not messages:
        return {"messages": []}
    names = dict.fromkeys(name for message in messages for name in message)
    dates = DateOrder()
    try:
        columns = find_columns(names, given, whole_conversations=True, example=messages[0])
    except ValueError as problem:
        raise BadRow(str(problem)) from None
    rows = [row for message in messages for row in RawMessage.of(message, columns, 0)]
    for row in rows:
        with suppress(BadRow) if columns.time_is_guessed else nullcontext():
            dates.see(row.time)
    used = [path for path in (given.conversation, given.messages, *given.ignore) if path]
    labels = named_labels(without(record, used), ("id", "messages"))
    identifier = value_at(record, given.conversation) if given.conversation else record.get("id")
    return {**labels, "id": identifier, "messages": message_rows(rows, columns, dates)}


def _messages(record: dict[str, Any], columns: Columns) -> list[dict[str, Any]]:
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
