"""Spearman's rank correlation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from turnlens._utils.vectors import FloatArray


def spearman_rows(pairs: FloatArray) -> FloatArray:
    """Spearman's correlation of each of several lists of pairs: (rows, pairs, 2) -> (rows,).

    Ties get their average rank. Where one of the two sides is constant it holds no order at all, and the result is 0.
    """
    ranks = rankdata(pairs, axis=1)
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    covariance = centred.prod(axis=2).sum(axis=1)
    scale = np.sqrt((centred**2).sum(axis=1).prod(axis=1))
    return np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0)


def spearman(a: ArrayLike, b: ArrayLike) -> float:
    """Spearman's rank correlation in [-1, 1], ties at their average rank; 0 where one side is constant.

    Args:
        a: (pairs,) values.
        b: (pairs,) values.

    Raises:
        ValueError: The lengths differ, there are fewer than two pairs or a value is not finite.

    >>> spearman([1, 2, 3], [-3.0, -2.0, -1.0])
    1.0
    >>> spearman([1, 2, 3], [7, 7, 7])
    0.0
    """
    left, right = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if left.ndim != 1 or left.shape != right.shape or len(left) < 2:
        raise ValueError(f"two lists of one length, 2 or more, are needed; got shapes {left.shape} and {right.shape}")
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise ValueError("values must be finite numbers, got nan or inf")
    return float(spearman_rows(np.stack([left, right], axis=1)[None])[0])
