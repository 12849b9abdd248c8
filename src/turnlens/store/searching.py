"""Fusing the rankings by vector and by text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

_FUSION = 60  # k of reciprocal rank fusion (Cormack et al., SIGIR 2009)


def fused(rankings: Iterable[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Fuse rankings by reciprocal rank fusion: a row scores the sum of 1 / (60 + rank) over the rankings it is in.

    Args:
        rankings: The ids of rows, the best first.
        count: How many rows are wanted.

    Returns:
        The ids of the best, with all that have the same score as the last of them, and the scores.
    """
    scores: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, id in enumerate(ranking.tolist(), start=1):
            scores[id] += 1 / (_FUSION + rank)
    least = sorted(scores.values(), reverse=True)[:count][-1:]
    best = [id for id, score in scores.items() if score >= least[0]]
    return np.asarray(best, np.uint64), np.asarray([scores[id] for id in best])
