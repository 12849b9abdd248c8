"""Ids that were generated from the name of a file and a number, under which a store may hold another conversation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from turnlens.data.messages import plain_messages
from turnlens.errors import ConversationError
from turnlens.store.batches import batches
from turnlens.store.filters import ids_among
from turnlens.store.lance_table import Tables
from turnlens.store.records import conversations_of


def generating_file(id: str, files: Mapping[str, str]) -> str | None:
    """Return the file that a generated id came from, or ``None``.

    Args:
        id: The id.
        files: The files by their names in such ids.
    """
    for whole in (id, id.rpartition("/")[0]):  # a conversation that was split has the part in its id
        name, _, number = whole.rpartition("-")
        if number.isdecimal() and name in files:
            return files[name]
    return None


def check_generated_ids(tables: Tables, rows: Iterable[Mapping[str, Any]], files: Mapping[str, str]) -> None:
    """Refuse conversations that would replace others only because ids were generated from names of files.

    Args:
        tables: The tables of the store.
        rows: The conversations to add, each with an id.
        files: The files by their names in such ids.

    Raises:
        ConversationError: The store has another conversation under such an id, which the given one does not continue.
    """
    if not tables.conversations.count_rows():
        return
    for records in batches(row for row in rows if generating_file(row["id"], files)):
        where = ids_among(record.id for record in records)
        stored = tables.conversations.rows(where, ["conversation", "digest"]).to_pylist()
        digests = {row["conversation"]: row["digest"] for row in stored}
        differing = {record.id: record for record in records if digests.get(record.id, record.digest) != record.digest}
        for row in conversations_of(tables, list(differing)):
            stored_messages = plain_messages(row["messages"], row["id"])
            if differing[row["id"]].plain[: len(stored_messages)] != stored_messages:
                raise ConversationError(
                    str(generating_file(row["id"], files)),
                    f"the store already has another conversation {row['id']!r}, which this file only calls so because "
                    "its conversations have no ids; nothing was added. Give the conversations ids, or the file another "
                    "name; or, if the stored one is this one in an older form, delete it first (turnlens store delete)",
                )
