"""Scores of a triple-encoder, as algebra on the embeddings of a context.

The score is a mean of inner products with the normalised after-embedding of the candidate, so all pairs of a context
fold into one query vector: ranking is one inner-product search, which any vector index can do.

Erker et al., Triple-Encoders, ACL 2024, section 4.1 and appendix B.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from turnlens._utils.vectors import unit_vectors
from turnlens.encoders.reply_scores import (
    checked_candidates,
    checked_context,
    common_precision,
    in_precision_of,
    inner_products,
)

_ROWS_MAXIMISED = 16384  # candidates processed at a time, so that intermediate results stay in the processor's cache


def inverse_pair_norms(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """``1 / |left_i + right_j|`` for all pairs, 0 where the two cancel out; no (n, m, dim) array is made.

    The normalised mean of two vectors is their sum times this.

    Args:
        left: (..., n, dim)
        right: (..., m, dim)

    Returns:
        (..., n, m)
    """
    lengths = (left**2).sum(-1)[..., :, None] + (right**2).sum(-1)[..., None, :]
    squares = lengths + 2 * (left @ right.swapaxes(-1, -2))  # |a + b|² = |a|² + |b|² + 2ab
    cancelled = squares <= 8 * np.finfo(squares.dtype).eps * lengths
    return np.asarray(np.where(cancelled, 0, 1 / np.sqrt(np.where(cancelled, 1, squares))))


def first_row(n: int, last_rows: int | None) -> int:
    """The first of the last rows of the triangle of pairs, row j holding the pairs (0, j), …, (j - 1, j).

    Raises:
        ValueError: ``last_rows`` is not positive.
    """
    if last_rows is not None and last_rows < 1:
        raise ValueError(f"last_rows must be positive, or None for all, got {last_rows}")
    return 1 if last_rows is None else max(1, n - last_rows)


def pairs_from(row: int, n: int) -> int:
    """Return how many pairs the rows ``row, …, n - 1`` of the triangle hold."""
    return (n * (n - 1) - row * (row - 1)) // 2


def triple_query(before1: ArrayLike, before2: ArrayLike, last_rows: int | None = None) -> np.ndarray:
    """The vector whose inner product with a normalised after-embedding is the average score of a triple-encoder.

    ``q = mean over i < j of (B1_i + B2_j) / |B1_i + B2_j|``; for c of length 1, ``q · c`` is the mean over i < j of
    ``cos((B1_i + B2_j) / 2, c)`` (Eq. 3). The query of a single utterance, which has no pair, is its normalised ``B2``.

    Args:
        before1: The utterances embedded as the earlier one of a pair (..., n, dim); the last is never used.
        before2: The same utterances embedded as the later one of a pair (..., n, dim).
        last_rows: Only pairs whose later utterance is among this many last ones; ``None`` for all.

    Returns:
        (..., dim), computed in double precision, returned in the precision of ``before2``.

    Raises:
        ValueError: The shapes differ, there is no utterance, or ``last_rows`` is not positive.

    Examples:
        >>> from turnlens.papers import triple_query
        >>> triple_query([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]])
        array([1., 0.])
    """
    first, second = checked_context(before1, before2)
    n = second.shape[-2]
    start = first_row(n, last_rows)
    if n == 1:
        return in_precision_of(before2, unit_vectors(second[..., 0, :]))
    weights = np.triu(inverse_pair_norms(first, second), k=1)  # (..., n, n)
    weights[..., :start] = 0
    total = weights.sum(-1)[..., None, :] @ first + weights.sum(-2)[..., None, :] @ second  # (..., 1, dim)
    return in_precision_of(before2, total[..., 0, :] / pairs_from(start, n))


def max_scores(before1: ArrayLike, before2: ArrayLike, candidates: Any) -> np.ndarray:
    """MaxSim (appendix B): the mean of the best pair scores, each of which adds an utterance to those covered.

    The paper goes through the pair scores of a candidate in decreasing order and adds a pair's score if one of its
    utterances is not yet covered. The first pair in that order that contains an utterance u is always added, because u
    was not covered before, and no pair is added for any other reason. So what is added is the best pair of every
    utterance, each pair once, and nothing needs sorting. Equal scores are taken in the order in which the pairs arise:
    (0, 1), (0, 2), (1, 2), (0, 3), …

    Args:
        before1: The utterances embedded as the earlier one of a pair (n, dim); the last is never used.
        before2: The same utterances embedded as the later one of a pair (n, dim).
        candidates: Normalised after-embeddings (m, dim), float32 or float16, perhaps memory-mapped.

    Returns:
        (m,), in the precision of `inner_products`; for a single utterance the cosine of its ``B2``.

    Raises:
        ValueError: The shapes do not fit, or there is no utterance or no candidate.

    Examples:
        >>> from turnlens.papers import max_scores
        >>> max_scores([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]).tolist()
        [1.0, 0.0]
    """
    first, second = checked_context(before1, before2)
    if second.ndim != 2:
        raise ValueError(f"expected one context (n, dim), got shape {second.shape}")
    candidates = checked_candidates(candidates, second.shape[-1])
    if len(second) == 1:
        return inner_products(in_precision_of(before2, unit_vectors(second[0])), candidates)
    ends = in_precision_of(before2, np.concatenate([first[:-1], second[1:]]))  # (2n - 2, dim)
    weights = inverse_pair_norms(first, second).astype(common_precision(ends, candidates))  # (n, n)
    scores = np.empty(len(candidates), weights.dtype)
    for start in range(0, len(candidates), _ROWS_MAXIMISED):
        block = candidates[start : start + _ROWS_MAXIMISED]
        # (n - 1, rows) each; pair (i, j) scores (B1_i·c + B2_j·c) / |B1_i + B2_j|
        earlier, later = np.split(inner_products(ends, block), 2)
        scores[start : start + len(block)] = _mean_of_best_pairs(earlier, later, weights)
    return scores


def _mean_of_best_pairs(earlier: np.ndarray, later: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The mean of the distinct best pairs of all utterances, for each column; all (n - 1, rows), weights (n, n)."""
    n, rows = len(weights), earlier.shape[1]
    best = np.full((n, rows), -np.inf, weights.dtype)
    has_best, mutual = np.zeros((n, rows), bool), np.zeros((n, rows), bool)
    space = np.empty((n, rows), weights.dtype)

    def scores_with_earlier(j: int) -> np.ndarray:
        scores = np.add(earlier[:j], later[j - 1], out=space[:j])
        return np.multiply(scores, weights[:j, j, None], out=scores)  # (j, rows)

    for j in range(1, n):
        scores = scores_with_earlier(j)
        np.maximum(best[:j], scores, out=best[:j])
        best[j] = scores.max(0)
    # The scores are computed again: that is cheap, and keeping them would take n² / 2 numbers per candidate.
    for j in range(1, n):
        scores = scores_with_earlier(j)
        best_of_earlier, best_of_j = scores == best[:j], scores == best[j]
        first_of_both = best_of_earlier > has_best[:j]
        has_best[:j] |= best_of_earlier
        for i in range(j):
            first_of_both[i] &= best_of_j[i] > has_best[j]
            has_best[j] |= best_of_j[i]
        mutual[:j] |= first_of_both  # the best pair of both its utterances counts once
    total = best.sum(0) - (best * mutual).sum(0)
    return np.asarray(total / (n - mutual.sum(0, dtype=weights.dtype)))
