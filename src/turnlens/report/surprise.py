"""Surprise: how unexpected each turn is after the turns before it, measured with a reply head.

The head composes a query from the vectors of the last turns. By this query, the turn itself is ranked among sampled
messages of the same role: the surprise is 0 if none of these fits better, and 1 if all of them do. The head is that of
the encoder, or is fitted to the corpus. A head that learned from the conversations that it ranks would find all of them
expected. So two heads are fitted, each to one half of the conversations, and each ranks the other half.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from turnlens._utils.progress import Advance, progress_of, silent
from turnlens._utils.vectors import BoolArray, FloatArray, IntArray
from turnlens.encoders.reply_scores import HeadArrays, head_of
from turnlens.groups.pipeline import keys_of
from turnlens.report.corpus import Corpus
from turnlens.report.report import Surprise

_ROWS_AT_ONCE = 2048
LEAST_REPLIES = 20  # the least number of messages of a role for which a rank means anything


@dataclass(frozen=True)
class FittedHeads:
    """The heads that were fitted to the vectors of a store, each to one half of its conversations.

    Attributes:
        stamp: Changes with the encoder of the store, and with the seed.
        conversations: The number of conversations with two messages or more.
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
        ranked: The messages to rank; they are compared only with each other (n,).
        sampled: The number of messages of each role to compare with.
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


LEAST_CONVERSATIONS = 200  # with two messages or more, so that a head can learn something from one half of them
_LEARNED = 2000  # conversations that a head is fitted to, at most
_GROWN = 1.25  # times as many conversations as heads were fitted to, from which on they are fitted again
_RANKED = (
    "The figure says how many of a thousand random messages of the same role would fit better there: few if it was "
    "expected, half by chance, most if it is a surprise."
)


def measure_surprise(
    corpus: Corpus, seed: int, former: FittedHeads | None = None
) -> tuple[Surprise | None, FloatArray, FittedHeads | None]:
    """The surprise of every message (n,).

    With too few conversations, all values are NaN and there is no `Surprise`.

    The encoder is loaded only if it has a reply head. The heads that were fitted last serve again until there are a
    quarter more conversations. (New ones are still ranked by the head of the other half.)

    Returns:
        How surprise was measured, its values, and the heads if any were fitted.
    """
    encoder = corpus.encoder.load() if corpus.encoder.has_replies else None
    head = head_of(encoder.encoder) if encoder is not None else None
    if encoder is not None and head is not None:
        everything = np.ones(len(corpus.texts), bool)
        method = f"{_RANKED} What usually follows was learned when the encoder was trained."
        return Surprise(method, encoder.name), _ranked(head, corpus, everything, seed), None
    surprises = np.full(len(corpus.texts), np.nan, np.float32)
    usable = corpus.turns > 1
    if usable.sum() < LEAST_CONVERSATIONS:
        return None, surprises, None
    keys = keys_of(corpus.ids, seed)
    half, heads, stamp = keys & 1, former, f"{corpus.encoder.digest} {seed}"
    if heads is None or heads.stamp != stamp or usable.sum() > _GROWN * heads.conversations:
        first, second = (_fitted(corpus, _smallest_keys(keys, usable & (half == own)), seed) for own in (0, 1))
        heads = FittedHeads(stamp, int(usable.sum()), (first, second))
    for own, head in enumerate(heads.halves):
        ranked = (half != own)[corpus.conversation]
        surprises[ranked] = _ranked(head, corpus, ranked, seed)[ranked]
    method = f"{_RANKED} What usually follows was learned from the other half of these conversations."
    return Surprise(method, corpus.encoder.name), surprises, heads


def _fitted(corpus: Corpus, learned: IntArray, seed: int) -> HeadArrays:
    """The head that is fitted to some conversations."""
    from turnlens.training.recipes.reply_head import ReplyHeadRecipe  # needs torch, which takes seconds to import
    from turnlens.training.reply_head import fit_reply_head

    head, _ = fit_reply_head(_embedded(corpus, learned), ReplyHeadRecipe(seed=seed))
    return head.arrays()


def _ranked(head: HeadArrays, corpus: Corpus, ranked: np.ndarray, seed: int) -> FloatArray:
    with progress_of("measuring surprise", len(ranked)) as advance:
        return surprise_of_turns(head, corpus.vectors, corpus.role, corpus.turn, ranked, seed=seed, advance=advance)


def _smallest_keys(keys: np.ndarray, usable: np.ndarray) -> IntArray:
    """The usable conversations with the smallest keys, up to a maximum, in their order (conversations,)."""
    rows = np.flatnonzero(usable)
    return np.sort(rows[np.argsort(keys[rows], kind="stable")[:_LEARNED]])


def _embedded(corpus: Corpus, conversations: IntArray) -> pa.Table:
    """The messages of conversations, as a table like the one that `turnlens embed` writes."""
    spans = [(int(corpus.first[number]), int(corpus.first[number] + corpus.turns[number])) for number in conversations]
    rows = np.concatenate([np.arange(start, end) for start, end in spans])
    vectors = np.array(corpus.vectors[rows], np.float32)
    return pa.table(
        {
            "id": [corpus.ids[conversation] for conversation in corpus.conversation[rows]],
            "role": [corpus.roles[role] for role in corpus.role[rows]],
            "text": [corpus.texts[row] for row in rows],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1]),
        }
    )
