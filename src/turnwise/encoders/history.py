"""Messages with what was said before or around them, by algebra on their vectors: no further pass of the encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from turnwise._utils.vectors import FloatArray, unit_vectors

SHARE, DECAY = 0.5, 0.5  # as chosen on the development sets of two corpora, see docs/results.md
_AROUND_SHARE, _AROUND_DECAY = 0.5, 0.7  # likewise on one, to teach messages


def add_history(
    vectors: FloatArray, turns: Sequence[int] | np.ndarray, share: float = SHARE, decay: float = DECAY
) -> FloatArray:
    """Add to the vector of each message what was said before it, the sooner the less.

    With e the vectors of a conversation's messages, each of length 1: e_t + share · Σ_{d ≥ 1} decay^{d−1} e_{t−d}.
    "Yes, please." comes near what it answers, as with `encode_in_context`, which reads every conversation once more.

    Args:
        vectors: Of messages, those of one conversation in a row, of any length (messages, dim).
        turns: How many messages each conversation has (conversations,).
        share: How much the message before counts, where the message itself counts 1.
        decay: How much less each earlier one counts than the one after it: 0 for the message before alone.

    Returns:
        float32 (messages, dim), of length 1; zero where a message and all before it have no tokens.

    Raises:
        ValueError: ``turns`` are not those of the vectors, ``share`` is negative, or ``decay`` not within 0 and 1.
    """
    if share < 0 or not 0 <= decay <= 1:
        raise ValueError(f"share must be 0 or more and decay between 0 and 1, got {share!r} and {decay!r}")
    lengths = _lengths(vectors, turns)
    units = unit_vectors(vectors).astype(np.float32)
    return unit_vectors(units + share * _before(units, lengths, decay)).astype(np.float32)


def add_surroundings(vectors: FloatArray, turns: Sequence[int] | np.ndarray) -> FloatArray:
    """Add to the vector of each message what was said before and after it, the nearer the more.

    With e the vectors less their mean, each of length 1: e_t + ½ Σ_{d ≥ 1} 0.7^{d−1} (e_{t−d} + e_{t+d}), as long as it
    comes out.

    Args:
        vectors: Of messages, those of one conversation in a row, of any length (messages, dim).
        turns: How many messages each conversation has (conversations,).

    Returns:
        float32 (messages, dim).

    Raises:
        ValueError: ``turns`` are not those of the vectors.
    """
    lengths = _lengths(vectors, turns)
    # With their mean, messages that little surrounds would be alike for that alone.
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
    """What was said before each message: the sum of decay^{d−1} e_{t−d} (messages, dim)."""
    longest_first = np.argsort(-lengths, kind="stable")
    starts = (np.cumsum(lengths) - lengths)[longest_first]
    longer = np.searchsorted(-lengths[longest_first], -np.arange(lengths.max(initial=0)))  # than so many turns
    history = np.zeros_like(units)
    for turn, count in enumerate(longer[1:].tolist(), start=1):
        rows = starts[:count] + turn
        history[rows] = units[rows - 1] + decay * history[rows - 1]
    return history
