"""Whole conversations read back from the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from turnwise.store.adding import ids_among
from turnwise.store.records import chat_form
from turnwise.store.tables import Tables, rows_of

_AT_ONCE = 512
_ORDER = [("conversation", "ascending"), ("turn", "ascending")]


def all_ids(tables: Tables) -> list[str]:
    """The ids of all conversations."""
    found = tables.conversations.search().select(["conversation"]).limit(tables.conversations.count_rows())
    return found.to_arrow()["conversation"].to_pylist()


def batches_of(table: Any, columns: Sequence[str], rows: int = 8192) -> Iterator[pa.RecordBatch]:
    """All rows of a table, a batch at a time, in no particular order."""
    count = table.count_rows()
    if count:
        yield from table.search().select(list(columns)).limit(count).to_batches(rows)


def conversations_of(tables: Tables, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Conversations in chat form; ids that are not there are passed over."""
    for start in range(0, len(ids), _AT_ONCE):
        where = ids_among(ids[start : start + _AT_ONCE])
        found = rows_of(tables.messages, where, ["conversation", "turn", "role", "text", "fields"])
        messages: dict[str, list[dict[str, Any]]] = {}
        for message in found.sort_by(_ORDER).to_pylist():
            messages.setdefault(message["conversation"], []).append(message)
        for row in rows_of(tables.conversations, where, ["conversation", "fields"]).to_pylist():
            yield chat_form(row, messages[row["conversation"]])
