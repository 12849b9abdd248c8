"""Adding conversations to a store batch by batch, and deleting them; ids that were generated from names of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from turnlens.data.messages import plain_messages
from turnlens.errors import ConversationError
from turnlens.store.filters import ids_among, ids_at_once
from turnlens.store.hits import AddReport
from turnlens.store.lance_table import Tables
from turnlens.store.records import (
    ORDER,
    Record,
    conversation_row,
    conversations_of,
    message_rows,
    stored_rows,
    table_of,
    vectors_of,
)

if TYPE_CHECKING:
    from turnlens.store.store_encoder import StoreEncoder
    from turnlens.store.tables import Transaction

_MESSAGES_IN_BATCH = 2048  # embedded together; a kill loses no more than these
_CONVERSATIONS_IN_BATCH = 512
_COMPUTED = ("vector", "reply", "tokens")  # of each message, from its text alone


@dataclass(frozen=True)
class _Write:
    """A conversation to write, how many of its messages are stored already, and how many it no longer has."""

    record: Record
    start: int
    replaces: bool
    lost: int = 0


def batches(conversations: Iterable[Mapping[str, Any]]) -> Iterator[list[Record]]:
    """Conversations in batches with a bounded number of messages; no id occurs twice in a batch.

    Raises:
        ConversationError: One has no id or no messages.
    """
    batch: dict[str, Record] = {}
    messages = 0
    for row, conversation in enumerate(conversations):
        record = Record.of(conversation, f"row {row}")
        too_long = messages + len(record.messages) > _MESSAGES_IN_BATCH
        if batch and (too_long or len(batch) == _CONVERSATIONS_IN_BATCH or record.id in batch):
            yield list(batch.values())
            batch, messages = {}, 0
        batch[record.id] = record
        messages += len(record.messages)
    if batch:
        yield list(batch.values())


def add_batch(changes: Transaction, encoder: StoreEncoder, records: Sequence[Record]) -> AddReport:
    """Write the conversations, or the new messages of those that are stored already, and commit.

    Args:
        changes: The transaction.
        encoder: The store's encoder.
        records: The conversations, with distinct ids.
    """
    tables = changes.tables
    writes = _to_do(tables, records)
    messages = 0
    if writes:
        embedded, messages = _embed(tables, encoder, writes)
        vectors = _conversation_vectors(tables, encoder, writes, embedded)
        _replace(tables, writes)
        rows = [row for write in writes for row in message_rows(write.record, write.start)]
        added = table_of(rows, tables.messages.schema, **embedded)
        tables.messages.add(added)
        whole = [conversation_row(write.record) for write in writes]
        tables.conversations.add(table_of(whole, tables.conversations.schema, vector=vectors))
        changes.commit(
            commits=tables.state.commits + 1,
            unindexed=tables.state.unindexed + added["text"].nbytes,
            tokenizer=changes.prepare_texts(rows),
        )
    new = sum(not write.replaces and not write.start for write in writes)
    grown = sum(write.start > 0 for write in writes)
    shortened, lost = sum(write.lost > 0 for write in writes), sum(write.lost for write in writes)
    changed, unchanged = len(writes) - new - grown, len(records) - len(writes)
    return AddReport(new, grown, changed, unchanged, messages, shortened, lost)


def delete_conversations(changes: Transaction, ids: Sequence[str]) -> int:
    """Delete conversations with their messages, and return how many there were; unknown ids are ignored."""
    tables = changes.tables
    deleted = 0
    for where in ids_at_once(ids):
        deleted += tables.conversations.count_rows(where)
        tables.conversations.delete(where)
        tables.messages.delete(where)
    if deleted:
        changes.commit(commits=tables.state.commits + 1)
    return deleted


def _to_do(tables: Tables, records: Sequence[Record]) -> list[_Write]:
    stored = stored_rows(tables, (record.id for record in records), ["digest", "turns"])
    writes = []
    for record in records:
        row = stored.get(record.id)
        if row is None:
            writes.append(_Write(record, start=0, replaces=False))
        elif row["digest"] != record.digest:
            has_grown = row["turns"] < len(record.messages) and record.digest_of(row["turns"]) == row["digest"]
            lost = max(0, row["turns"] - len(record.messages))
            writes.append(_Write(record, start=row["turns"] if has_grown else 0, replaces=True, lost=lost))
    return writes


def _embed(tables: Tables, encoder: StoreEncoder, writes: Sequence[_Write]) -> tuple[dict[str, np.ndarray], int]:
    """The computed columns of the messages to write, and how many of them were embedded.

    A text that its conversation had before keeps what was computed for it.
    """
    texts = [(write.record.id, text) for write in writes for text in write.record.texts[write.start :]]
    rewritten = [write for write in writes if write.replaces and not write.start]
    if not rewritten:
        return encoder.messages([text for _, text in texts]), len(texts)
    computed = [name for name in _COMPUTED if name in tables.messages.schema.names]
    stored = tables.messages.rows(_among(rewritten), ["conversation", "text", *computed])
    row_of = {key: row for row, key in enumerate(zip(stored["conversation"].to_pylist(), stored["text"].to_pylist()))}
    new = [text for name, text in texts if (name, text) not in row_of]
    columns = {name: [_values(stored[name])] for name in computed}
    for name, values in encoder.messages(new).items() if new else ():
        columns[name].append(values)
    further = count(len(stored))
    rows = [row_of[key] if key in row_of else next(further) for key in texts]
    return {name: np.concatenate(parts)[rows] for name, parts in columns.items()}, len(new)


def _values(column: pa.ChunkedArray) -> np.ndarray:
    """Vectors (rows, dim) or numbers (rows,)."""
    return vectors_of(column) if pa.types.is_fixed_size_list(column.type) else np.asarray(column)


def _among(writes: Iterable[_Write]) -> str:
    return ids_among(write.record.id for write in writes)


def _conversation_vectors(
    tables: Tables, encoder: StoreEncoder, writes: Sequence[_Write], embedded: Mapping[str, np.ndarray]
) -> np.ndarray:
    """The vector of each conversation; if the pooling allows, from stored and new vectors of its messages."""
    earlier = (
        _stored_vectors(tables, [write for write in writes if write.start]) if encoder.pooling == "messages" else {}
    )
    vectors, tokens, place = [], [], 0
    for write in writes:
        if write.record.id in earlier:
            stored = earlier[write.record.id]
            vectors.append(stored[0])
            tokens.append(stored[1])
        end = place + len(write.record.messages) - write.start
        vectors.append(embedded["vector"][place:end])
        tokens.append(embedded["tokens"][place:end])
        place = end
    return encoder.conversations(
        [write.record.plain for write in writes], np.concatenate(vectors), np.concatenate(tokens)
    )


def _stored_vectors(tables: Tables, grown: Sequence[_Write]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The vectors (turns, dim) and numbers of tokens (turns,) of the messages that are stored already."""
    if not grown:
        return {}
    rows = tables.messages.rows(_among(grown), ["conversation", "turn", "tokens", "vector"]).sort_by(ORDER)
    names = np.asarray(rows["conversation"].to_pylist())
    vectors, tokens = vectors_of(rows["vector"]), np.asarray(rows["tokens"])
    return {write.record.id: (vectors[names == write.record.id], tokens[names == write.record.id]) for write in grown}


def _replace(tables: Tables, writes: Sequence[_Write]) -> None:
    """Delete the rows that will be written again."""
    if replaced := [write for write in writes if write.replaces]:
        tables.conversations.delete(_among(replaced))
    if rewritten := [write for write in replaced if not write.start]:
        tables.messages.delete(_among(rewritten))


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
        stored = stored_rows(tables, (record.id for record in records), ["digest"])
        known = [record for record in records if record.id in stored]
        differing = {record.id: record for record in known if stored[record.id]["digest"] != record.digest}
        for row in conversations_of(tables, list(differing)):
            stored_messages = plain_messages(row["messages"], row["id"])
            if differing[row["id"]].plain[: len(stored_messages)] != stored_messages:
                raise ConversationError(
                    str(generating_file(row["id"], files)),
                    f"the store already has another conversation {row['id']!r}, which this file only calls so because "
                    "its conversations have no ids; nothing was added. Give the conversations ids, or the file another "
                    "name; or, if the stored one is this one in an older form, delete it first (turnlens store delete)",
                )
