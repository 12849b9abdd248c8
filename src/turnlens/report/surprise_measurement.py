"""Surprise for a store, measured with the reply head of its encoder, or with heads fitted to its vectors.

A head that learned from the conversations that it ranks would find all of them expected. So two heads are fitted, each
to one half of the conversations, and each ranks the other half.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from turnlens._utils.progress import progress_of
from turnlens._utils.vectors import FloatArray, IntArray
from turnlens.encoders.head_arrays import HeadArrays
from turnlens.encoders.quick import head_of
from turnlens.groups.sample import keys_of
from turnlens.report.corpus import Corpus
from turnlens.report.report import Surprise
from turnlens.report.surprise import FittedHeads, surprise_of_turns
from turnlens.store import ConversationStore

LEAST_CONVERSATIONS = 200  # with two messages or more, so that a head can learn something from one half of them
_LEARNED = 2000  # conversations that a head is fitted to, at most
_GROWN = 1.25  # times as many conversations as heads were fitted to, from which on they are fitted again
_RANKED = (
    "The figure says how many of a thousand random messages of the same role would fit better there: few if it was "
    "expected, half by chance, most if it is a surprise."
)


def measure_surprise(
    store: ConversationStore, corpus: Corpus, seed: int, former: FittedHeads | None = None
) -> tuple[Surprise | None, FloatArray, FittedHeads | None]:
    """The surprise of every message (n,). With too few conversations, all values are NaN and there is no `Surprise`.

    Args:
        store: The store; its encoder is loaded only if it has a reply head.
        corpus: The content of the store.
        seed: Seed of the sampled messages and of the heads that are fitted.
        former: The heads that were fitted to the store last. They serve again until there are a quarter more
            conversations. (New ones are still ranked by the head of the other half.)

    Returns:
        How surprise was measured, its values, and the heads if any were fitted.
    """
    state = store.tables().state
    encoder = store.encoder() if state.has_replies else None
    head = head_of(encoder.for_texts(0)) if encoder is not None else None
    if encoder is not None and head is not None:
        everything = np.ones(len(corpus.texts), bool)
        method = f"{_RANKED} What usually follows was learned when the encoder was trained."
        return Surprise(method, encoder.name), _ranked(head, corpus, everything, seed), None
    surprises = np.full(len(corpus.texts), np.nan, np.float32)
    usable = corpus.turns > 1
    if usable.sum() < LEAST_CONVERSATIONS:
        return None, surprises, None
    keys = keys_of(corpus.ids, seed)
    half, heads, stamp = keys & 1, former, f"{state.digest} {seed}"
    if heads is None or heads.stamp != stamp or usable.sum() > _GROWN * heads.conversations:
        first, second = (_fitted(corpus, _smallest_keys(keys, usable & (half == own)), seed) for own in (0, 1))
        heads = FittedHeads(stamp, int(usable.sum()), (first, second))
    for own, head in enumerate(heads.halves):
        ranked = (half != own)[corpus.conversation]
        surprises[ranked] = _ranked(head, corpus, ranked, seed)[ranked]
    method = f"{_RANKED} What usually follows was learned from the other half of these conversations."
    return Surprise(method, state.encoder), surprises, heads


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
