"""Adding conversations to a store batch by batch, and deleting them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwise.store.backend import Changes, Tables
from turnwise.store.conditions import Among, Condition
from turnwise.store.hits import AddReport
from turnwise.store.records import Record, conversation_row, message_rows, table_of, vectors_of

if TYPE_CHECKING:
    from turnwise.store.encoding import StoreEncoder

_MESSAGES_IN_BATCH = 2048  # embedded together; a kill loses no more than these
_CONVERSATIONS_IN_BATCH = 512


@dataclass(frozen=True)
class _Work:
    """A conversation to write, and how many of its messages are stored already."""

    record: Record
    start: int
    replaces: bool


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


def add_batch(changes: Changes, encoder: StoreEncoder, records: Sequence[Record]) -> AddReport:
    """Write the conversations, or the new messages of those that are stored already, and commit.

    Args:
        changes: The transaction.
        encoder: The store's encoder.
        records: The conversations, with distinct ids.
    """
    tables = changes.tables
    work = _to_do(tables, records)
    if work:
        embedded = _embed(encoder, work)
        vectors = _conversation_vectors(tables, encoder, work, embedded)
        _replace(changes, work)
        rows = [row for one in work for row in message_rows(one.record, one.start)]
        tables.messages.add(table_of(rows, tables.messages.schema, **embedded))
        whole = [conversation_row(one.record) for one in work]
        tables.conversations.add(table_of(whole, tables.conversations.schema, vector=vectors))
        changes.commit(commits=tables.state.commits + 1, tokenizer=changes.prepare_texts(rows))
    added = sum(not one.replaces and not one.start for one in work)
    grown = sum(one.start > 0 for one in work)
    messages = sum(len(one.record.messages) - one.start for one in work)
    return AddReport(added, grown, len(work) - added - grown, len(records) - len(work), messages)


def delete_conversations(changes: Changes, ids: Sequence[str]) -> int:
    """Delete conversations with their messages, and return how many there were; unknown ids are ignored."""
    tables = changes.tables
    count = 0
    for start in range(0, len(ids), _CONVERSATIONS_IN_BATCH):
        where = ids_among(ids[start : start + _CONVERSATIONS_IN_BATCH])
        count += tables.conversations.count_rows(where)
        tables.conversations.delete(where)
        tables.messages.delete(where)
    if count:
        changes.commit(commits=tables.state.commits + 1)
    return count


def ids_among(ids: Iterable[str]) -> Condition:
    """The condition that a conversation's id is one of these."""
    return Among("conversation", tuple(ids))


def _to_do(tables: Tables, records: Sequence[Record]) -> list[_Work]:
    where = ids_among(record.id for record in records)
    found = tables.conversations.rows(where, ["conversation", "digest", "turns"]).to_pylist()
    stored = {row["conversation"]: row for row in found}
    work = []
    for record in records:
        row = stored.get(record.id)
        if row is None:
            work.append(_Work(record, start=0, replaces=False))
        elif row["digest"] != record.digest:
            has_grown = row["turns"] < len(record.messages) and record.digest_of(row["turns"]) == row["digest"]
            work.append(_Work(record, start=row["turns"] if has_grown else 0, replaces=True))
    return work


def _embed(encoder: StoreEncoder, work: Sequence[_Work]) -> dict[str, np.ndarray]:
    return encoder.messages([text for one in work for text in one.record.texts[one.start :]])


def _conversation_vectors(
    tables: Tables, encoder: StoreEncoder, work: Sequence[_Work], embedded: Mapping[str, np.ndarray]
) -> np.ndarray:
    """The vector of each conversation; if the pooling allows, from stored and new vectors of its messages."""
    earlier = _stored_vectors(tables, [one for one in work if one.start]) if encoder.pooling == "messages" else {}
    vectors, tokens, place = [], [], 0
    for one in work:
        if one.record.id in earlier:
            known = earlier[one.record.id]
            vectors.append(known[0])
            tokens.append(known[1])
        end = place + len(one.record.messages) - one.start
        vectors.append(embedded["vector"][place:end])
        tokens.append(embedded["tokens"][place:end])
        place = end
    return encoder.conversations([one.record.plain for one in work], np.concatenate(vectors), np.concatenate(tokens))


def _stored_vectors(tables: Tables, grown: Sequence[_Work]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The vectors (turns, dim) and numbers of tokens (turns,) of the messages that are stored already."""
    if not grown:
        return {}
    columns = ["conversation", "turn", "tokens", "vector"]
    found = tables.messages.rows(ids_among(one.record.id for one in grown), columns)
    found = found.sort_by([("conversation", "ascending"), ("turn", "ascending")])
    names = np.asarray(found["conversation"].to_pylist())
    vectors, tokens = vectors_of(found["vector"]), np.asarray(found["tokens"])
    return {one.record.id: (vectors[names == one.record.id], tokens[names == one.record.id]) for one in grown}


def _replace(changes: Changes, work: Sequence[_Work]) -> None:
    """Delete the rows that will be written again, a conversation's own row first, since it marks it as complete."""
    if replaced := [one.record.id for one in work if one.replaces]:
        changes.tables.conversations.delete(ids_among(replaced))
    # where batches are not atomic, a killed writer may have left messages of conversations that seem new
    if rewritten := [one.record.id for one in work if not one.start and (one.replaces or not changes.is_atomic)]:
        changes.tables.messages.delete(ids_among(rewritten))
