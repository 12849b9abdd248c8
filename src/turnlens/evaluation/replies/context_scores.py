"""The scores of one way of ranking on every context, with intervals over conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from turnlens._utils.vectors import BoolArray, FloatArray, IntArray, bootstrap_interval
from turnlens.evaluation.figures import NOT_IN_PERCENT, RANK, RANK_OVER_LENGTHS
from turnlens.evaluation.replies.sequences import Sequences
from turnlens.evaluation.scoring import percent


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
        cls,
        sequences: Sequences,
        contexts: Sequence[IntArray],
        values: Mapping[str, FloatArray],
        main: str = RANK,
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
            low, high = bootstrap_interval(self.per_conversation(name), seed)
            figures[name] = _shown(name, values.mean())
            figures[f"{name}_interval"] = [_shown(name, low), _shown(name, high)]
        return {**figures, "queries": len(self.conversation), "conversations": len(self.queries)}

    def rank_over_lengths(self, length: IntArray, seed: int) -> dict[str, object]:
        """The average rank in which every context length counts the same, with its interval, ready for JSON."""
        values = self.per_conversation(RANK, length)
        interval = [_shown(RANK, end) for end in bootstrap_interval(values, seed)]
        return {RANK_OVER_LENGTHS: _shown(RANK, values.mean()), f"{RANK_OVER_LENGTHS}_interval": interval}

    def means(self, chosen: BoolArray) -> dict[str, object]:
        """The means over some contexts, and the number of these, ready for JSON."""
        figures = {name: _shown(name, values[chosen].mean()) for name, values in self.values.items()}
        return {**figures, "queries": int(chosen.sum())}


def _shown(name: str, value: np.floating | float) -> float:
    return round(float(value), 6) if name in NOT_IN_PERCENT else percent(float(value))
