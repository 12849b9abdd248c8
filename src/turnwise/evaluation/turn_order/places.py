"""The place of one true item among candidates, and what a figure of that place is worth when scores tie.

A figure is a table of its value at every place, best place first: the expected value over all orderings of the tied
items is then the mean over the places the true item can take.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Places:
    """Where each true item stands.

    Args:
        above: (queries,) candidates with a higher score.
        size: (queries,) candidates with its score, itself included.
    """

    above: IntArray
    size: IntArray

    def expected(self, values: FloatArray) -> FloatArray:
        """The expected value of a figure: (queries,).

        Args:
            values: (items,) its value at each place.
        """
        sums = np.concatenate([[0.0], np.cumsum(values)])
        return np.asarray((sums[self.above + self.size] - sums[self.above]) / self.size)

    def rank(self) -> FloatArray:
        """The expected rank, 1 for the best: (queries,)."""
        return np.asarray(self.above + (self.size + 1) / 2)


def find_places(scores: NDArray[np.floating], true: IntArray, counts: IntArray) -> Places:
    """Compare every true item with all candidates.

    Args:
        scores: (queries, candidates) finite numbers, higher is better; equal must mean equal, see ``product_blocks``.
        true: (queries,) the true candidate of each query.
        counts: (candidates,) how often each candidate occurs.
    """
    own = np.take_along_axis(scores, true[:, None], axis=1)  # (queries, 1)
    weights = counts.astype(np.float64)  # whole numbers, so the sums are exact
    above = (scores > own) @ weights
    size = (scores == own) @ weights
    return Places(above.astype(np.int64), size.astype(np.int64))


def recall_among(k: int, items: int, drawn: int) -> FloatArray:
    """Chance that the item at each of ``items`` places is among the first k when most others are left out at random.

    Instead of drawing candidates, the mean over all draws: with p - 1 items above, those among the ``drawn`` others
    follow the hypergeometric distribution.

    Args:
        k: How many count as found.
        items: Candidates, the true one included.
        drawn: How many others stay, without replacement; all if there are fewer.

    Returns:
        (items,) the chance at each place, best first.

    >>> recall_among(1, items=3, drawn=1)  # second of three: the better one is drawn half of the time
    array([1. , 0.5, 0. ])
    """
    others = items - 1
    return np.asarray(hypergeom.cdf(k - 1, others, np.arange(items), min(drawn, others)))
