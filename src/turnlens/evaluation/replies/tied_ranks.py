"""The rank of one true item among candidates, and what a figure of that rank is worth when scores tie.

A figure is a table of its value at every rank, best rank first: the expected value over all orderings of the tied items
is then the mean over the ranks the true item can take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import hypergeom

from turnlens._utils.vectors import FloatArray, IntArray
from turnlens.evaluation.figures import RANK


@dataclass(frozen=True, eq=False)
class TiedRanks:
    """The ranks each true item can take: any from ``above + 1`` to ``above + tied``.

    Args:
        above: (queries,) candidates with a higher score.
        tied: (queries,) candidates with its score, itself included.
    """

    above: IntArray
    tied: IntArray

    def expected(self, values: FloatArray) -> FloatArray:
        """The expected value of a figure: (queries,).

        Args:
            values: (items,) its value at each rank.
        """
        sums = np.concatenate([[0.0], np.cumsum(values)])
        return np.asarray((sums[self.above + self.tied] - sums[self.above]) / self.tied)

    def expected_rank(self) -> FloatArray:
        """The expected rank, 1 for the best: (queries,)."""
        return np.asarray(self.above + (self.tied + 1) / 2)

    def figures(self, tables: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """The expected rank and the expected values of other figures: name -> (queries,)."""
        return {RANK: self.expected_rank(), **{name: self.expected(values) for name, values in tables.items()}}


def rank_true_items(scores: FloatArray, true: IntArray, counts: IntArray) -> TiedRanks:
    """Compare every true item with all candidates.

    Args:
        scores: (queries, candidates) finite numbers, higher is better; equal must mean equal, see ``product_blocks``.
        true: (queries,) the true candidate of each query.
        counts: (candidates,) how often each candidate occurs.
    """
    own = np.take_along_axis(scores, true[:, None], axis=1)  # (queries, 1)
    weights = counts.astype(np.float64)  # whole numbers, so the sums are exact
    above = (scores > own) @ weights
    tied = (scores == own) @ weights
    return TiedRanks(above.astype(np.int64), tied.astype(np.int64))


def recall_among(k: int, items: int, drawn: int) -> FloatArray:
    """Chance that the item at each of ``items`` ranks is among the first k when most others are left out at random.

    Candidates are not drawn; this is the mean over all draws. With r - 1 items above, the number of these among the
    ``drawn`` others follows the hypergeometric distribution.

    Args:
        k: How many count as found.
        items: Candidates, the true one included.
        drawn: How many others stay, without replacement; all if there are fewer.

    Returns:
        (items,) the chance at each rank, best first.

    >>> recall_among(1, items=3, drawn=1)  # second of three: the better one is drawn half of the time
    array([1. , 0.5, 0. ])
    """
    others = items - 1
    return np.asarray(hypergeom.cdf(k - 1, others, np.arange(items), min(drawn, others)))
