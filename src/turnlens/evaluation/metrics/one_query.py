"""The ranking metrics of ``ranking_rows`` for one query.

Scores may be negative, and only their order counts. Tied scores never depend on the order of the input:
the metrics return the expected value over all orderings of the tied items, in closed form.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from turnlens._utils.vectors import FloatArray
from turnlens.evaluation.metrics.ranking_rows import (
    RETRIEVAL_METRICS,
    RankedRows,
    average_precision_rows,
    rank_rows,
    reciprocal_rank_rows,
)


def average_precision(scores: ArrayLike, relevant: ArrayLike) -> float:
    """Average precision of the ranking by descending score, in [0, 1].

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
    return float(average_precision_rows(_ranked(scores, relevant))[0])


def reciprocal_rank(scores: ArrayLike, relevant: ArrayLike) -> float:
    """One over the rank of the first relevant item by descending score, in (0, 1].

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
    return float(reciprocal_rank_rows(_ranked(scores, relevant))[0])


def retrieval_metrics(rankings: Iterable[tuple[ArrayLike, ArrayLike]]) -> dict[str, FloatArray]:
    """The values of `RETRIEVAL_METRICS` for queries, given the scores and the relevance of each one's items.

    >>> retrieval_metrics([([0.9, 0.8], [False, True]), ([0.9, 0.8], [True, False])])
    {'map': array([0.5, 1. ]), 'mrr': array([0.5, 1. ])}
    """
    rows = [_ranked(*ranking) for ranking in rankings]
    return {
        name: np.array([metric(row)[0] for row in rows], dtype=np.float64) for name, metric in RETRIEVAL_METRICS.items()
    }


def _ranked(scores: ArrayLike, relevant: ArrayLike) -> RankedRows:
    """One query as the only row."""
    values = np.asarray(scores, dtype=np.float64)
    flags = np.asarray(relevant, dtype=bool)
    if values.ndim != 1 or values.shape != flags.shape:
        raise ValueError(f"scores and relevant must be two lists of one length, got {values.shape} and {flags.shape}")
    if not np.isfinite(values).all():
        raise ValueError("scores must be finite numbers, got nan or inf")
    if not flags.any():
        raise ValueError("no relevant item: the metric is undefined, leave such a query out and count it")
    # Rows are ranked by whole numbers, so that ties are exact: the place of each value among the distinct ones.
    _, codes = np.unique(values, return_inverse=True)
    return rank_rows(codes[None], flags[None])
