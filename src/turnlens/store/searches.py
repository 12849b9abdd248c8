"""Searches for messages, replies and conversations: rankings by vector and by text, fused, and their hits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from turnlens.data.automatic_replies import AUTOMATIC, AutomaticReplies, find_automatic_replies
from turnlens.data.sentences import letters_of
from turnlens.store.filters import (
    CONVERSATION_COLUMNS,
    MESSAGE_COLUMNS,
    ids_at_once,
    named_in,
    names_role,
    said_by,
    said_by_one_of,
)
from turnlens.store.hits import ConversationHit, MessageHit, ReplyHit
from turnlens.store.lance_table import LanceTable, Tables
from turnlens.store.records import ORDER, all_ids, labels_of, labels_of_hit

_FUSION = 60  # k of reciprocal rank fusion (Cormack et al., SIGIR 2009)
_COLUMNS = ["conversation", "turn", "role", "text", "labels", "fields", "time"]
_CONVERSATION_COLUMNS = ["conversation", "turns", "speakers", "fields", "text", "first_time", "last_time"]
_FUSED = 50  # at least, of each ranking
_LOOKED_AT = 1000  # messages for each reply that is wanted, at most: a bot may say nearly one thing
_LOOKED_THROUGH = 5000  # conversations, spread over all, for automatic replies
_TOLD = 20  # roles, or values of a label
_Hit = TypeVar("_Hit", MessageHit, ReplyHit, ConversationHit)


def fused(rankings: Iterable[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Fuse rankings by reciprocal rank fusion: a row scores the sum of 1 / (60 + rank) over the rankings it is in.

    Args:
        rankings: The ids of rows, the best first.
        count: How many rows are wanted.

    Returns:
        The ids of the best, with all that have the same score as the last of them, and the scores.
    """
    scores: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, id in enumerate(ranking.tolist(), start=1):
            scores[id] += 1 / (_FUSION + rank)
    least = sorted(scores.values(), reverse=True)[:count][-1:]
    best = [id for id, score in scores.items() if score >= least[0]]
    return np.asarray(best, np.uint64), np.asarray([scores[id] for id in best])


def find_messages(
    tables: Tables, vector: np.ndarray | None, text: str | None, where: str | None, limit: int, offset: int
) -> list[MessageHit]:
    """Find messages similar to a vector (dim,), a text, or both; see `ConversationStore.search_messages`."""
    depth = limit + offset
    is_hybrid = vector is not None and text is not None
    fetched = max(depth, _FUSED) if is_hybrid else depth
    rankings = []
    if vector is not None:
        rankings.append(tables.messages.nearest("vector", vector, where, fetched))
    if text is not None:
        rankings.append(tables.messages.matching(text, where, fetched))
    ranking = fused((ids for ids, _ in rankings), depth) if is_hybrid else rankings[0]
    rows = tables.messages.ranked(ranking, _COLUMNS)
    if is_hybrid:
        rows = rows.sort_by([("score", "descending"), *ORDER])[:depth]
    return [_hit(MessageHit, row) for row in rows.slice(offset, limit).to_pylist()]


def by_next_speaker(
    tables: Tables, messages: Sequence[Mapping[str, Any]], speaker: str | None, where: str | None
) -> str | None:
    """The condition for what may be said next: also that the next speaker said it, or that the only one so far did not.

    A condition that names a role stays as it is, as does one that no message would fulfil then.

    Args:
        tables: The tables.
        messages: The conversation so far, at least one message.
        speaker: Who speaks next; ``None`` is someone new.
        where: The condition without a speaker.
    """
    if where is not None and names_role(where):
        return where
    by_role = said_by(speaker) if speaker else said_by(messages[-1]["role"], is_not=True)
    condition = by_role if where is None else f"({where}) AND {by_role}"
    return condition if tables.messages.count_rows(condition) else where


def require_speaker(tables: Tables, speaker: str, where: str | None) -> None:
    """Raise ``ValueError`` if no message has a role, unless a filter names the roles."""
    if where is not None and names_role(where):
        return
    said = said_by(speaker)
    if not tables.messages.count_rows(said):
        raise ValueError(f"speaker {speaker}: {absent_names(tables, said, 'message')}")


def require_known_role(tables: Tables, messages: Sequence[Mapping[str, Any]], where: str | None) -> None:
    """Raise ``ValueError`` if the store has no role of a conversation, unless a filter names roles.

    Somebody new may join those who are known, or begin where roles are names, of which there are many. Else a
    conversation of new ones only, such as of user and assistant where the store has customer and agent, would get
    anybody's messages.
    """
    roles = sorted({message["role"] for message in messages})
    if (where is not None and names_role(where)) or tables.messages.count_rows(said_by_one_of(roles)):
        return
    there = _values_in(tables.messages, "role")
    if 0 < len(there) <= _TOLD:
        raise ValueError(
            f"messages: no message has the role {' or '.join(map(repr, roles[:_TOLD]))}; there are {_listed(there)}; "
            "use these, name the speaker that comes next, or filter by role"
        )


def find_replies(
    tables: Tables,
    query: np.ndarray,
    where: str | None,
    limit: int,
    offset: int,
    distinct: bool,
    automatic: AutomaticReplies,
    suggested: tuple[int, float] | None = None,
    same: float | None = None,
) -> list[ReplyHit]:
    """The messages with the greatest inner products with a query for the next one (dim,); each text once if asked.

    Automatic replies, which follow anything, are left out.

    A message that is suggested comes first: it is given by its id in LanceDB and the probability that it fits. With
    ``same``, messages at such a cosine to a better one are left out.
    """
    column = "reply" if tables.state.has_replies else "vector"
    wanted = limit + offset
    count = 2 * wanted if distinct else wanted
    while True:
        ids, scores = tables.messages.nearest(column, query, where, count)
        is_all = len(ids) < count
        if suggested is not None:
            first, vectors = tables.messages.vectors(column, np.array(suggested[:1], np.uint64))
            others = ids != first
            ids, scores = np.concatenate([first, ids[others]]), np.concatenate([vectors @ query, scores[others]])
        if automatic.known:  # most stores have none, and reading texts takes time
            said = tables.messages.ranked((ids, scores), ["role", "text"]).to_pylist()
            is_written = [not automatic.has(row["role"], row["text"]) for row in said]
            ids, scores = ids[is_written], scores[is_written]
        if same is not None:
            places = _unlike_better(tables, ids, same, wanted)
            ids, scores = ids[places], scores[places]
        rows = tables.messages.ranked((ids, scores), _COLUMNS).to_pylist()
        chosen = _first_of_each_text(rows) if distinct else rows
        if len(chosen) >= wanted or is_all or count > _LOOKED_AT * wanted:
            hits = [_hit(ReplyHit, row) for row in chosen[:wanted]]
            if suggested is not None:
                hits[0] = replace(hits[0], probability=suggested[1])
            return hits[offset:]
        count *= 4


def automatic_replies_of(tables: Tables) -> AutomaticReplies:
    """Find the automatic replies of a store, in at most 5,000 of its conversations: a hundredth of all have each."""
    ids = all_ids(tables)
    columns = [*(name for name, _ in ORDER), "role", "text"]
    read = [tables.messages.rows(some, columns) for some in ids_at_once(ids[:: len(ids) // _LOOKED_THROUGH + 1])]
    if not read:
        return AutomaticReplies(frozenset())
    rows = pa.concat_tables(read).sort_by(ORDER)
    words = pc.count_substring_regex(rows["text"], r"\pL+").to_pylist()  # most messages are short, and cost little
    letters = [letters_of(text) if count >= AUTOMATIC else "" for text, count in zip(rows["text"].to_pylist(), words)]
    found = find_automatic_replies(letters, rows["conversation"].to_pylist(), rows["role"].to_pylist())
    return AutomaticReplies(frozenset(found))


def find_conversations(
    tables: Tables, vector: np.ndarray, where: str | None, limit: int, offset: int
) -> list[ConversationHit]:
    """Find whole conversations similar to a vector (dim,)."""
    ranking = tables.conversations.nearest("vector", vector, where, limit + offset)
    rows = tables.conversations.ranked(ranking, _CONVERSATION_COLUMNS)
    return [_hit(ConversationHit, row, labels_of) for row in rows.slice(offset, limit).to_pylist()]


def absent_names(tables: Tables, where: str, level: Literal["message", "conversation"]) -> str:
    """Tell which roles and labels of a filter do not occur in a store, and which do; an empty text if all occur.

    This goes through the whole store, so ask only if a filter has found nothing.
    """
    is_message = level == "message"
    table, column = (tables.messages, "role") if is_message else (tables.conversations, "speakers")
    roles, labels = named_in(where, MESSAGE_COLUMNS if is_message else CONVERSATION_COLUMNS)
    there, entries = _values_in(table, column), _values_in(table, "labels")
    names = sorted({entry.partition("=")[0] for entry in entries})
    told = [f"no {level} has the role {role!r}; there are {_listed(there)}" for role in roles if role not in there]
    for name, asked in labels.items():
        values = [entry.partition("=")[2] for entry in entries if entry.partition("=")[0] == name]
        if not values:
            told.append(f"no {level} has the label {name!r}; there are {_listed(names)}")
        elif missing := [entry for entry in asked if entry not in entries]:
            told.append(f"no {level} has {' or '.join(missing)}; {name} has {_listed(values)}")
    return "; ".join(told)


def label_names(tables: Tables) -> set[str]:
    """Return the names of the labels of messages and of conversations. This goes through the whole store."""
    entries = _values_in(tables.messages, "labels") | _values_in(tables.conversations, "labels")
    return {entry.partition("=")[0] for entry in entries}


def _values_in(table: LanceTable, column: str) -> set[str]:
    """The distinct texts of a column of texts or of lists of texts."""
    columns = (batch[column] for batch in table.batches([column]))
    flat = (values if pa.types.is_string(values.type) else values.flatten() for values in columns)
    return {text for values in flat for text in pc.unique(values).to_pylist()}


def _listed(names: Iterable[str]) -> str:
    shown = sorted(names)
    more = f", … {len(shown) - _TOLD:,} more" if len(shown) > _TOLD else ""
    return ", ".join(shown[:_TOLD]) + more or "none"


def _unlike_better(tables: Tables, ids: np.ndarray, same: float, wanted: int) -> list[int]:
    """The places of the first messages of a ranking whose cosines with all better ones are lower (at most wanted)."""
    found, vectors = tables.messages.vectors("vector", ids)
    order = np.argsort(found)
    vectors = vectors[order[np.searchsorted(found, ids, sorter=order)]]
    places: list[int] = []
    for place, vector in enumerate(vectors):
        if len(places) < wanted and not (vectors[places] @ vector >= same).any():
            places.append(place)
    return places


def _first_of_each_text(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    first: dict[str, dict[str, Any]] = {}
    for row in rows:
        first.setdefault(row["text"], row)
    return list(first.values())


def _hit(
    kind: type[_Hit], row: dict[str, Any], labels: Callable[[dict[str, Any]], dict[str, Any]] = labels_of_hit
) -> _Hit:
    return kind(**{name: value for name, value in row.items() if name != "fields"} | {"labels": labels(row)})
