"""Conversations that went like a given one so far: its last turns are compared one by one with those of others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from turnwise.store.adding import ids_among
from turnwise.store.conditions import Condition
from turnwise.store.hits import PrefixHit
from turnwise.store.lance_table import Tables
from turnwise.store.records import labels_of, message_of, vectors_of

_NEAREST = 200  # messages that are looked up for each of the last turns
_COMPARED = 100  # the least number of conversations whose turns are all compared
_COLUMNS = ["conversation", "turn", "role", "text", "fields", "time", "vector"]


def similar_places(
    tables: Tables, vectors: np.ndarray, where: Condition | None, limit: int, offset: int, next_turns: int
) -> list[PrefixHit]:
    """The places in other conversations where the last turns are most like the given ones.

    There is at most one place from each conversation, the best first. The score of a place is the mean cosine of its
    turns with the given ones, where turns that are d turns back have the weight 1 / √(d + 1). A place is a candidate
    if one of its turns is among the messages most similar to the given turn at the same distance.

    Args:
        tables: The tables.
        vectors: The vectors of the last turns, of length 1, the latest first (turns, dim).
        where: A condition on the messages that are looked up.
        limit: How many places to return.
        offset: How many of the best to leave out.
        next_turns: How many messages after the place to return.
    """
    weights = 1 / np.sqrt(np.arange(1, len(vectors) + 1))
    weights /= weights.sum()
    names = _candidates(tables, vectors, weights, where, max(_COMPARED, 2 * (limit + offset)))
    if not names:
        return []
    messages = tables.messages.rows(ids_among(names), _COLUMNS)
    messages = messages.sort_by([("conversation", "ascending"), ("turn", "ascending")])
    embedded, rows = vectors_of(messages["vector"]), messages.drop_columns("vector").to_pylist()
    starts = [row for row in range(len(rows)) if not rows[row]["turn"]]
    hits = []
    for start, end in zip(starts, [*starts[1:], len(rows)]):
        scores = _scores(vectors, weights, embedded[start:end])
        best = int(np.argmax(scores))
        hits.append(_hit(float(scores[best]), rows[start:end], best, next_turns))
    hits.sort(key=lambda hit: (-hit.score, hit.conversation))
    return hits[offset : offset + limit]


def _candidates(
    tables: Tables, vectors: np.ndarray, weights: np.ndarray, where: Condition | None, count: int
) -> list[str]:
    """The conversations that seem to have the best places, judged by their nearest messages alone."""
    places: dict[tuple[str, int], float] = defaultdict(float)
    for back, (vector, weight) in enumerate(zip(vectors, weights)):
        near = tables.messages.nearest("vector", vector, where, _NEAREST, ["conversation", "turn"])
        for row in near.to_pylist():
            places[row["conversation"], row["turn"] + back] += weight * row["score"]
    best = sorted(places, key=lambda place: (-places[place], place))
    return list(dict.fromkeys(name for name, _ in best))[:count]


def _scores(vectors: np.ndarray, weights: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """The score of every place of a conversation (turns,); turns before its beginning count as 0."""
    cosines = vectors @ turns.T  # (back, turn)
    scores = np.zeros(len(turns))
    for back, weight in enumerate(weights[: len(turns)]):
        scores[back:] += weight * cosines[back, : len(turns) - back]
    return scores


def _hit(score: float, rows: Sequence[dict[str, Any]], turn: int, next_turns: int) -> PrefixHit:
    row = rows[turn]
    following = [message_of(after) for after in rows[turn + 1 : turn + 1 + next_turns]]
    labels = labels_of(row)
    return PrefixHit(score, row["conversation"], turn, row["role"], row["text"], labels, row["time"], following)
