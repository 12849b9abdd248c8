"""Suggestions: the reply that mostly followed situations like this one, where it is likely to fit.

A situation is the last four messages e of a conversation, the latest first. It is compared with stored situations f by
s = Σ_d w_d cos(e_d, f_d) / Σ_d w_d. The 20 most similar weigh p = softmax(s / 0.1). Of the replies a that followed, the
one is chosen whose support Σ_j p_j cos(a_i, a_j) is the greatest. The share g of the others that say the same gives the
probability that it fits:

    g = Σ_{j ≠ i} p_j [cos(a_i, a_j) ≥ 0.7],    probability = σ(log((g + 0.03) / (1.03 - g)) + 0.22)

"Fits" means a cosine of 0.7 or more with what was said in truth. The numbers were learned from four corpora, and
measured on two others: docs/research-log/reply-head.md.
"""

from __future__ import annotations

import numpy as np

from turnlens._utils.vectors import FloatArray
from turnlens.data.automatic_replies import AutomaticReplies
from turnlens.store.filters import ids_among
from turnlens.store.lance_table import Tables
from turnlens.store.records import ORDER

LEAST_PROBABILITY = 0.65  # below it, nothing is suggested
_LEAST_SIMILARITY = 0.65  # of the most similar situation; below it, the store knows nothing like this
_WEIGHTS = np.array([1, 1, 0.5, 0.5], np.float32)  # w
SITUATION = len(_WEIGHTS)  # messages
_FOUND = 100  # messages like the last one, and like the one before it; their situations are compared
_MOST_SIMILAR, _TEMPERATURE, SAME, _SMOOTHING = 20, 0.1, 0.7, 0.03
_INTERCEPT = 0.22
_NONE = np.iinfo(np.uint64).max  # the id of no row


def find_suggestion(
    tables: Tables, situation: FloatArray, where: str | None, automatic: AutomaticReplies
) -> tuple[int, float] | None:
    """Return LanceDB's id of the message to suggest, and the probability that it fits; None if no message is likely to.

    Args:
        tables: The tables.
        situation: The vectors of the last messages, of length 1, the latest first (at most four, dim).
        where: The condition that the message must fulfil.
        automatic: Replies that follow anything; a situation goes on after them.
    """
    messages, after = tables.messages, []
    for back, vector in enumerate(situation[:2], start=1):
        similar = messages.ranked(messages.nearest("vector", vector, None, _FOUND), ["conversation", "turn"])
        after += [(row["conversation"], row["turn"], back) for row in similar.to_pylist()]
    if not after:
        return None
    among = ids_among(sorted({conversation for conversation, *_ in after}))
    rows = messages.rows(f"{among} AND {messages.with_text}", ["_rowid", "conversation", "turn", "role", "text"])
    rows = [row for row in rows.sort_by(ORDER).to_pylist() if not automatic.has(row["role"], row["text"])]
    number = {(row["conversation"], row["turn"]): number for number, row in enumerate(rows)}
    place = {(row["conversation"], number): row["_rowid"] for number, row in enumerate(rows)}
    replies = {(talk, number[talk, turn] + back) for talk, turn, back in after if (talk, turn) in number}
    allowed = set(messages.rows(f"({where}) AND {among}" if where else among, ["_rowid"])["_rowid"].to_pylist())
    followed = np.array(  # the ids of replies, and of the messages before them; _NONE for none
        [
            [place.get((conversation, number - back), _NONE) for back in range(len(situation) + 1)]
            for conversation, number in sorted(replies)
            if place.get((conversation, number)) in allowed
        ],
        np.uint64,
    )
    if not len(followed):
        return None
    ids, vectors = messages.vectors("vector", np.setdiff1d(followed, _NONE))
    order = np.argsort(ids)
    found = np.searchsorted(ids, followed, sorter=order)  # len(ids) for _NONE
    vectors = np.concatenate([vectors[order], np.zeros_like(vectors[:1])])[found]  # (replies, 1 + messages, dim)
    weights = _WEIGHTS[: len(situation)]
    best, probability = best_supported(
        np.einsum("rmd,md,m->r", vectors[:, 1:], situation, weights) / weights.sum(), vectors[:, 0]
    )
    return (int(followed[best, 0]), probability) if probability >= LEAST_PROBABILITY else None


def best_supported(similarity: FloatArray, replies: FloatArray) -> tuple[int, float]:
    """Return the place of the reply with the greatest support, and the probability that it fits (0: nothing is alike).

    Args:
        similarity: s of their situations (n,).
        replies: Their vectors, of length 1 (n, dim).

    Examples:
        >>> place, probability = best_supported(np.array([0.9, 0.9, 0.9]), np.eye(3)[[0, 1, 1]])
        >>> place, 0 < probability < 1
        (1, True)
    """
    nearest = np.argsort(-similarity, kind="stable")[:_MOST_SIMILAR]
    if similarity[nearest[0]] < _LEAST_SIMILARITY:
        return int(nearest[0]), 0.0
    weights = np.exp((similarity[nearest] - similarity[nearest[0]]) / _TEMPERATURE)
    weights = weights / weights.sum()
    cosines = replies[nearest] @ replies[nearest].T
    best = int((cosines @ weights).argmax())
    cosines[best, best] = 0  # nothing is usual that was said only once
    agreement = weights[cosines[best] >= SAME].sum()
    logit = np.log((agreement + _SMOOTHING) / (1 + _SMOOTHING - agreement)) + _INTERCEPT
    return int(nearest[best]), float(1 / (1 + np.exp(-logit)))
