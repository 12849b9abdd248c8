"""The result of both retrieval tasks: the values of every query, and their means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from turnlens._utils.vectors import FloatArray, bootstrap_interval
from turnlens.evaluation.scoring import percent


@dataclass(frozen=True, eq=False)
class RankingResult:
    """The values of every query, and their means in percent with 95 % bootstrap intervals over queries.

    Args:
        queries: (queries,) what identifies each query.
        values: By the names of `RETRIEVAL_METRICS`, (queries,) in [0, 1].
        dropped: Number of queries left out because nothing could be ranked for them.
        seed: Seed of the bootstrap.
    """

    queries: tuple[str, ...]
    values: Mapping[str, FloatArray]
    dropped: int
    seed: int

    @property
    def per_query(self) -> FloatArray:
        """(queries,) average precision, by which two encoders are compared."""
        return self.values["map"]

    @property
    def map(self) -> float:
        """Mean average precision, in percent."""
        return self._figures["map"][0]

    @property
    def map_interval(self) -> tuple[float, float]:
        """The interval of ``map``."""
        return self._figures["map"][1]

    @cached_property
    def _figures(self) -> dict[str, tuple[float, tuple[float, float]]]:
        figures = {}
        for name, values in self.values.items():
            low, high = bootstrap_interval(values, self.seed)
            figures[name] = percent(float(values.mean())), (percent(low), percent(high))
        return figures

    def summary(self) -> dict[str, object]:
        """The figures without the per-query values, ready for JSON."""
        figures: dict[str, object] = {}
        for name, (mean, interval) in self._figures.items():
            figures |= {name: mean, f"{name}_interval": list(interval)}
        return {**figures, "queries": len(self.queries), "dropped": self.dropped}
