"""Surprise for a store: which of its encoders can tell it, and what is said where none can."""

from __future__ import annotations

import numpy as np

from turnwise._utils.vectors import FloatArray
from turnwise.encoders.turn_order_head import turn_order_head_of
from turnwise.explorer.corpus import Corpus
from turnwise.explorer.progress import Advance
from turnwise.explorer.surprise import Surprise, surprise_of_turns
from turnwise.store import ConversationStore

_HOW = (
    "The share of a thousand messages of the same role that the turn-order head ranks above this one, given the turns "
    "before it: 0 is expected, 1 is a surprise."
)


def measure_surprise(
    store: ConversationStore, corpus: Corpus, seed: int, advance: Advance
) -> tuple[Surprise | None, FloatArray]:
    """The surprise of every message (n,), all NaN and no `Surprise` where the encoder has no turn-order head.

    Args:
        store: The store; its encoder is loaded only if it has turn order.
        corpus: What is in it.
        seed: Seed of the messages that are compared with.
        advance: Told how many messages are done.
    """
    nothing = None, np.full(len(corpus.texts), np.nan, np.float32)
    if corpus.replies is None:
        return nothing
    encoder = store.encoder()
    head = turn_order_head_of(encoder.encoder)
    if head is None:
        return nothing
    values = surprise_of_turns(
        head, corpus.vectors, corpus.replies, corpus.role, corpus.turn, seed=seed, advance=advance
    )
    return Surprise(_HOW, encoder.name), values
