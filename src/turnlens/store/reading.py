"""Whole conversations read back from the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from turnlens.store.damage import damaged
from turnlens.store.filters import ids_among
from turnlens.store.lance_table import Tables
from turnlens.store.records import chat_form

_AT_ONCE = 512
_ORDER = [("conversation", "ascending"), ("turn", "ascending")]


def all_ids(tables: Tables) -> list[str]:
    """The ids of all conversations."""
    batches = tables.conversations.batches(["conversation"])
    return [name for batch in batches for name in batch["conversation"].to_pylist()]


def turns_of(tables: Tables, ids: Sequence[str]) -> dict[str, int]:
    """How many messages the conversations with these ids have; unknown ids are left out."""
    turns: dict[str, int] = {}
    for start in range(0, len(ids), _AT_ONCE):
        rows = tables.conversations.rows(ids_among(ids[start : start + _AT_ONCE]), ["conversation", "turns"])
        turns.update(zip(rows["conversation"].to_pylist(), rows["turns"].to_pylist()))
    return turns


def conversations_of(tables: Tables, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The conversations with these ids in chat form; unknown ids are skipped."""
    for start in range(0, len(ids), _AT_ONCE):
        where = ids_among(ids[start : start + _AT_ONCE])
        rows = tables.messages.rows(where, ["conversation", "turn", "role", "text", "fields"])
        messages: dict[str, list[dict[str, Any]]] = {}
        for message in rows.sort_by(_ORDER).to_pylist():
            messages.setdefault(message["conversation"], []).append(message)
        for row in tables.conversations.rows(where, ["conversation", "fields"]).to_pylist():
            name = row["conversation"]
            if name not in messages:
                raise damaged(f"the messages of conversation {name!r} are not there")
            yield chat_form(row, messages[name])
