"""Metrics and their uncertainty: pure numpy functions, no task knows more than it hands over here.

Scores may be negative, and only their order counts. Tied scores never depend on the order of the input:
the ranking metrics return the expected value over all orderings of the tied items, in closed form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


def _tied_groups(scores: ArrayLike, relevant: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sizes of the groups of equal score, best group first, and the number of relevant items in each."""
    values = np.asarray(scores, dtype=np.float64)
    flags = np.asarray(relevant, dtype=bool)
    if values.ndim != 1 or values.shape != flags.shape:
        raise ValueError(f"scores and relevant must be two lists of one length, got {values.shape} and {flags.shape}")
    if not np.isfinite(values).all():
        raise ValueError("scores must be finite numbers, got nan or inf")
    if not flags.any():
        raise ValueError("no relevant item: the metric is undefined, leave such a query out and count it")
    _, group, sizes = np.unique(-values, return_inverse=True, return_counts=True)
    return sizes, np.bincount(group[flags], minlength=len(sizes))


def average_precision(scores: ArrayLike, relevant: ArrayLike) -> float:
    """Average precision of the ranking by descending score, in [0, 1].

    The closed form for ties is that of McSherry and Najork, "Computing Information Retrieval Performance
    Measures Efficiently in the Presence of Tied Scores", ECIR 2008, section 3.3.

    Args:
        scores: (items,) scores, higher is better; negative ones are as good as any.
        relevant: (items,) whether the item is relevant.

    Raises:
        ValueError: No item is relevant, a score is not finite or the lengths differ.

    >>> average_precision([-0.1, -0.9, -0.5], [True, True, False])  # ranks 1 and 3: (1/1 + 2/3) / 2
    0.8333333333333333
    >>> average_precision([0.5, 0.5], [True, False])  # (1/1 + 1/2) / 2 over the two orderings
    0.75
    """
    sizes, hits = _tied_groups(scores, relevant)
    above = np.cumsum(sizes) - sizes  # items ranked before the group
    hits_above = np.cumsum(hits) - hits
    group = np.repeat(np.arange(len(sizes)), sizes)  # (items,) in rank order
    rank = np.arange(1, len(group) + 1)
    before = rank - 1 - above[group]  # items of the same group placed before this one
    # Given that an item is relevant, each other item of its group is relevant with chance (hits - 1) / (size - 1).
    others = (hits[group] - 1) / np.maximum(sizes[group] - 1, 1)
    precision = (hits_above[group] + 1 + before * others) / rank
    chance = hits[group] / sizes[group]  # that the item at this rank is relevant
    return float((chance * precision).sum() / hits.sum())


def reciprocal_rank(scores: ArrayLike, relevant: ArrayLike) -> float:
    """One over the rank of the first relevant item by descending score, in (0, 1].

    Ties: the expectation over all orderings (McSherry and Najork, ECIR 2008, section 3.2).

    Args:
        scores: (items,) scores, higher is better; negative ones are as good as any.
        relevant: (items,) whether the item is relevant.

    Raises:
        ValueError: No item is relevant, a score is not finite or the lengths differ.

    >>> reciprocal_rank([-0.2, -0.1, -0.3], [True, False, True])
    0.5
    >>> reciprocal_rank([0.0, 0.0], [True, False])  # (1 + 1/2) / 2
    0.75
    """
    sizes, hits = _tied_groups(scores, relevant)
    first = int(np.flatnonzero(hits)[0])  # the best group with a relevant item settles the matter
    above, size, relevant_here = int(sizes[:first].sum()), int(sizes[first]), int(hits[first])
    return expected_reciprocal_rank(above, size, relevant_here)


def expected_reciprocal_rank(above: int, size: int, hits: int) -> float:
    """Expected reciprocal rank of the first of ``hits`` relevant items in a tie of ``size``, ``above`` items before it.

    >>> expected_reciprocal_rank(0, 2, 1)
    0.75
    """
    place = np.arange(size - hits + 1)  # where in the group the first relevant item can stand
    hazard = hits / (size - place)  # it stands here, given that it stood nowhere before
    missed = np.concatenate([[1.0], np.cumprod(1.0 - hazard[:-1])])
    return float((missed * hazard / (above + 1 + place)).sum())
