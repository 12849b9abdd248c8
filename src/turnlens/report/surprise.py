"""How unexpected each turn is after the turns before it, measured with a reply head.

The head composes a query from the vectors of the last turns. By this query, the turn itself is ranked among sampled
messages of the same role: the surprise is 0 if none of these fits better, and 1 if all of them do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from turnlens._utils.progress import Advance, silent
from turnlens._utils.vectors import BoolArray, FloatArray, IntArray
from turnlens.encoders.head_arrays import HeadArrays

_ROWS_AT_ONCE = 2048
LEAST_REPLIES = 20  # the least number of messages of a role for which a rank means anything


@dataclass(frozen=True)
class FittedHeads:
    """The heads that were fitted to the vectors of a store, each to one half of its conversations.

    Attributes:
        stamp: Changes with the encoder of the store, and with the seed.
        conversations: How many conversations with two messages or more there were.
        halves: The head of each half.
    """

    stamp: str
    conversations: int
    halves: tuple[HeadArrays, HeadArrays]


def surprise_of_turns(
    head: HeadArrays,
    vectors: FloatArray,
    role: IntArray,
    turn: IntArray,
    ranked: BoolArray,
    sampled: int = 1000,
    seed: int = 0,
    advance: Advance = silent,
) -> FloatArray:
    """The share of sampled messages of the same role that fit better than each message, float32 (n,).

    Ties count half. The share is NaN for first messages, for messages that are not ranked, and for roles with too few
    messages to compare with.

    Args:
        head: The head.
        vectors: The vectors of the messages, of length 1, conversations one after the other (n, dim).
        role: The role of each message (n,).
        turn: The place of each message in its conversation, from 0 (n,).
        ranked: Which messages to rank; they are compared only with each other (n,).
        sampled: How many messages of each role to compare with.
        seed: Seed of the sample.
        advance: Called with numbers of messages that are done.
    """
    random = np.random.default_rng(seed)
    pools = {}
    for value in np.unique(role):
        rows = np.flatnonzero((role == value) & ranked)
        if len(rows) > LEAST_REPLIES:
            chosen = random.choice(rows, min(sampled, len(rows)), replace=False)
            pools[int(value)] = head.map_candidates(vectors[np.sort(chosen)])
    surprises = np.full(len(vectors), np.nan, np.float32)
    for start in range(0, len(vectors), _ROWS_AT_ONCE):
        rows = np.arange(start, min(start + _ROWS_AT_ONCE, len(vectors)))
        queries = _queries(head, vectors, role, turn, rows)
        own = (queries * head.map_candidates(vectors[rows])).sum(1, keepdims=True)
        for value, pool in pools.items():
            mine = (role[rows] == value) & (turn[rows] > 0) & ranked[rows]
            scores = queries[mine] @ pool.T
            same = np.abs(scores - own[mine]) <= 1e-6  # the message itself, or its text
            surprises[rows[mine]] = np.where(same, 0.5, scores > own[mine]).mean(1)
        advance(len(rows))
    return surprises


def _queries(head: HeadArrays, vectors: FloatArray, role: IntArray, turn: IntArray, rows: IntArray) -> FloatArray:
    """The queries for the messages in these consecutive rows (rows, dim)."""
    first = max(0, int(rows[0]) - head.turns)
    near = np.array(vectors[first : rows[-1] + 1], np.float32)
    places = np.maximum(rows[:, None] - np.arange(1, head.turns + 1), first)  # (rows, D): the latest first
    present = np.arange(head.turns) < turn[rows][:, None]
    return head.queries(near[places - first], role[places] == role[rows][:, None], present)
