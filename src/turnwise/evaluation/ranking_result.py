"""What both retrieval tasks report: average precision and reciprocal rank of every query, and their means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from turnwise._utils.bootstrap import bootstrap_interval
from turnwise._utils.vectors import FloatArray
from turnwise.evaluation.scoring import percent


@dataclass(frozen=True, eq=False)
class RankingResult:
    """The values of every query, and their means in percent with 95 % bootstrap intervals over queries.

    Args:
        queries: (queries,) what identifies each query.
        average_precision: (queries,) in [0, 1].
        reciprocal_rank: (queries,) in [0, 1].
        dropped: Number of queries left out because nothing could be ranked for them.
        seed: Seed of the bootstrap.
    """

    queries: tuple[str, ...]
    average_precision: FloatArray
    reciprocal_rank: FloatArray
    dropped: int
    seed: int

    @property
    def per_query(self) -> FloatArray:
        """(queries,) average precision, by which two encoders are compared."""
        return self.average_precision

    @cached_property
    def map(self) -> float:
        """Mean average precision, in percent."""
        return percent(float(self.average_precision.mean()))

    @cached_property
    def map_interval(self) -> tuple[float, float]:
        """The interval of ``map``."""
        return self._interval(self.average_precision)

    @cached_property
    def mrr(self) -> float:
        """Mean reciprocal rank, in percent."""
        return percent(float(self.reciprocal_rank.mean()))

    @cached_property
    def mrr_interval(self) -> tuple[float, float]:
        """The interval of ``mrr``."""
        return self._interval(self.reciprocal_rank)

    def _interval(self, values: FloatArray) -> tuple[float, float]:
        low, high = bootstrap_interval(values, self.seed)
        return percent(low), percent(high)

    def summary(self) -> dict[str, object]:
        """The figures without the per-query values, ready for JSON."""
        return {
            "map": self.map,
            "map_interval": list(self.map_interval),
            "mrr": self.mrr,
            "mrr_interval": list(self.mrr_interval),
            "queries": len(self.queries),
            "dropped": self.dropped,
        }
