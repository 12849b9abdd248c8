"""The figures of queries with their intervals, and the comparison of two encoders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from turnlens._utils.vectors import FloatArray, bootstrap_interval, paired_bootstrap_p
from turnlens.evaluation.scoring import percent


@dataclass(frozen=True, eq=False)
class RankingResult:
    """The values of every query, and their means in percent with 95 % bootstrap intervals over queries.

    Args:
        queries: (queries,) what identifies each query.
        values: By the names of the figures, such as those of `RETRIEVAL_METRICS`, (queries,) in [-1, 1].
        dropped: Number of queries left out because nothing could be ranked for them.
        seed: Seed of the bootstrap.
    """

    queries: tuple[str, ...]
    values: Mapping[str, FloatArray]
    dropped: int
    seed: int

    @property
    def per_query(self) -> FloatArray:
        """(queries,) the first figure, by which two encoders are compared."""
        return next(iter(self.values.values()))

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


class PerQuery(Protocol):
    """A result with a value for every query."""

    @property
    def queries(self) -> tuple[str, ...]:
        """(queries,) what identifies each query."""
        ...

    @property
    def per_query(self) -> FloatArray:
        """(queries,) the values whose mean is the task's main figure."""
        ...


def compare_results(a: PerQuery, b: PerQuery, seed: int = 0) -> float:
    """Two-sided p-value for "both encoders have the same mean", by paired bootstrap over the queries of one task.

    Raises:
        ValueError: The results are of different tasks or of different queries, or have no figure for each query.
    """
    for result in (a, b):
        if not hasattr(result, "queries"):
            modes = getattr(result, "modes", None)
            choose = f"; choose a way of scoring, such as .modes[{next(iter(modes))!r}]" if modes else ""
            raise ValueError(f"a {type(result).__name__} has no figure for each query{choose}")
    if type(a) is not type(b):
        raise ValueError(f"the two results are of different tasks: {type(a).__name__} and {type(b).__name__}")
    if a.queries != b.queries:
        raise ValueError(f"the two results are not of the same task: {len(a.queries)} and {len(b.queries)} queries")
    return paired_bootstrap_p(a.per_query, b.per_query, seed)
