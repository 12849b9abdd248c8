"""Comparing two encoders on the same queries of a task."""

from __future__ import annotations

from typing import Protocol

from turnlens._utils.vectors import FloatArray, paired_bootstrap_p


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
