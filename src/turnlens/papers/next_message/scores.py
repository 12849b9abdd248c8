"""The ranks of true items among candidates where scores tie, and the figures of every context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import hypergeom

from turnlens._utils.vectors import BoolArray, FloatArray, IntArray, bootstrap_interval
from turnlens.evaluation.scoring import percent
from turnlens.evaluation.task import NOT_IN_PERCENT, RANK, RANK_OVER_LENGTHS
from turnlens.papers.next_message.sequences import Sequences


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


@dataclass(frozen=True, eq=False)
class ContextScores:
    """The figures of every context. A conversation has several contexts, such as one for each length.

    Args:
        queries: (conversations,) id of each conversation with a context.
        conversation: (contexts,) whose context it is, an index of ``queries``.
        values: Figure -> (contexts,) its values; shares in [0, 1].
        main: The figure two encoders are compared by.
    """

    queries: tuple[str, ...]
    conversation: IntArray
    values: Mapping[str, FloatArray]
    main: str = RANK

    @classmethod
    def of(
        cls, sequences: Sequences, contexts: Sequence[IntArray], values: Mapping[str, FloatArray], main: str = RANK
    ) -> ContextScores:
        """Build it from figures of contexts, given in parts, whose conversations are given as indices."""
        conversations, conversation = np.unique(np.concatenate(contexts), return_inverse=True)
        return cls(tuple(sequences.ids[index] for index in conversations), conversation, values, main)

    @property
    def per_query(self) -> FloatArray:
        """(conversations,) what two encoders, or two modes, are compared by: see ``per_conversation``."""
        return self.per_conversation(self.main)

    def per_conversation(self, name: str, group: IntArray | None = None) -> FloatArray:
        """Values whose mean is the mean over all contexts, and varies like it when conversations are resampled.

        The mean over contexts is a ratio, Σ values / Σ contexts, of sums over conversations. This is its linearisation
        (Efron and Tibshirani 1993, section 21.5): for conversation c with n_c contexts,
        mean + conversations / contexts · (Σ_c values - n_c · mean).

        Args:
            name: The figure.
            group: A number for each context's group, such as its length (contexts,). Then the mean is that of the
                groups' own means, however many contexts each has.

        Returns:
            (conversations,)
        """
        values, size = self.values[name], len(self.queries)
        groups = np.zeros(len(values), dtype=np.int64) if group is None else group
        _, place, counts = np.unique(groups, return_inverse=True, return_counts=True)
        means = np.bincount(place, values) / counts  # (groups,)
        weights = size / (len(counts) * counts[place])
        deviations = np.bincount(self.conversation, weights * (values - means[place]), minlength=size)
        return np.asarray(means.mean() + deviations)

    def summary(self, seed: int) -> dict[str, object]:
        """Means over contexts with 95 % bootstrap intervals over conversations, ready for JSON; shares in percent."""
        figures: dict[str, object] = {}
        for name, values in self.values.items():
            figures |= _with_interval(name, values.mean(), self.per_conversation(name), seed)
        return {**figures, "queries": len(self.conversation), "conversations": len(self.queries)}

    def rank_over_lengths(self, length: IntArray, seed: int) -> dict[str, object]:
        """The average rank in which every context length counts the same, with its interval, ready for JSON."""
        values = self.per_conversation(RANK, length)
        return _with_interval(RANK_OVER_LENGTHS, values.mean(), values, seed)

    def means(self, chosen: BoolArray) -> dict[str, object]:
        """The means over some contexts, and the number of these, ready for JSON."""
        figures = {name: _shown(name, values[chosen].mean()) for name, values in self.values.items()}
        return {**figures, "queries": int(chosen.sum())}


def _with_interval(name: str, mean: np.floating, values: FloatArray, seed: int) -> dict[str, object]:
    interval = [_shown(name, end) for end in bootstrap_interval(values, seed)]
    return {name: _shown(name, mean), f"{name}_interval": interval}


def _shown(name: str, value: np.floating | float) -> float:
    return round(float(value), 6) if name in NOT_IN_PERCENT else percent(float(value))
