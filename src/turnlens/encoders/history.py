"""Adding the messages before or around each message to its vector, without another pass through the encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from turnlens._utils.vectors import FloatArray, unit_vectors

SHARE, DECAY = 0.5, 0.5  # chosen on development sets, see docs/research-log
_AROUND_SHARE, _AROUND_DECAY = 0.5, 0.7  # chosen on the development set of one corpus, to teach messages


def add_history(
    vectors: FloatArray, turns: Sequence[int] | np.ndarray, share: float = SHARE, decay: float = DECAY
) -> FloatArray:
    """Add the messages before each message to its vector, with weights that shrink with their distance.

    With e the vectors of a conversation's messages, each of length 1: e_t + share · Σ_{d ≥ 1} decay^{d−1} e_{t−d}.
    The vector of "Yes, please." comes close to the question that it answers. Reading it in context has the same effect,
    but has to read every conversation once more.

    Args:
        vectors: The vectors of messages, of any length, with the messages of one conversation in a row (messages, dim).
        turns: How many messages each conversation has (conversations,).
        share: The weight of the message just before; the message itself has the weight 1.
        decay: The weight of each earlier message as a fraction of the weight of the one after it. With 0, only the
            message just before is added.

    Returns:
        float32 (messages, dim), of length 1; zero where neither a message nor any before it has tokens.

    Raises:
        ValueError: ``turns`` does not fit the vectors, ``share`` is negative, or ``decay`` is not between 0 and 1.
    """
    if share < 0 or not 0 <= decay <= 1:
        raise ValueError(f"share must be 0 or more and decay between 0 and 1, got {share!r} and {decay!r}")
    lengths = _lengths(vectors, turns)
    units = unit_vectors(vectors).astype(np.float32)
    return unit_vectors(units + share * _before(units, lengths, decay)).astype(np.float32)


def add_surroundings(vectors: FloatArray, turns: Sequence[int] | np.ndarray) -> FloatArray:
    """Add the messages before and after each message to its vector, with weights that shrink with their distance.

    The mean of all vectors is subtracted from each, and each is scaled to length 1. With e the results: e_t + ½ Σ_{d ≥
    1} 0.7^{d−1} (e_{t−d} + e_{t+d}). The sum is not scaled to length 1.

    Args:
        vectors: The vectors of messages, of any length, with the messages of one conversation in a row (messages, dim).
        turns: How many messages each conversation has (conversations,).

    Returns:
        float32 (messages, dim).

    Raises:
        ValueError: ``turns`` does not fit the vectors.
    """
    lengths = _lengths(vectors, turns)
    # If the mean were kept, messages with few others around them would be alike for that reason alone.
    units = unit_vectors(vectors - vectors.mean(axis=0))
    before = _before(units, lengths, _AROUND_DECAY)
    after = _before(units[::-1], lengths[::-1], _AROUND_DECAY)[::-1]
    return (units + _AROUND_SHARE * (before + after)).astype(np.float32)


def _lengths(vectors: FloatArray, turns: Sequence[int] | np.ndarray) -> np.ndarray:
    lengths = np.asarray(turns, dtype=np.int64)
    if len(vectors) != lengths.sum() or (lengths < 0).any():
        raise ValueError(f"turns must sum up to the {len(vectors):,} vectors, got a sum of {lengths.sum():,}")
    return lengths


def _before(units: FloatArray, lengths: np.ndarray, decay: float) -> FloatArray:
    """The weighted sum of the messages before each message: the sum of decay^{d−1} e_{t−d} (messages, dim)."""
    longest_first = np.argsort(-lengths, kind="stable")
    starts = (np.cumsum(lengths) - lengths)[longest_first]
    longer = np.searchsorted(-lengths[longest_first], -np.arange(lengths.max(initial=0)))  # how many exceed each length
    history = np.zeros_like(units)
    for turn, count in enumerate(longer[1:].tolist(), start=1):
        rows = starts[:count] + turn
        history[rows] = units[rows - 1] + decay * history[rows - 1]
    return history
