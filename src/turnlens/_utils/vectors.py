"""Arrays of numbers: vectors of length 1, distinct things embedded once, and how certain a mean is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Encoders give float32; scores and metrics are float64.
FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_Item = TypeVar("_Item", bound=Hashable)


class Vectors(Protocol):
    """Vectors (n, dim) that are read row by row; an array is the simplest kind."""

    def __len__(self) -> int: ...
    def __getitem__(self, rows: Any, /) -> Any: ...


@dataclass(frozen=True)
class LazyVectors:
    """Vectors that are computed as rows of them are taken, since there may be too many to keep a second time.

    Attributes:
        count: The number of all rows.
        take: Computes some of them, given as those of an array are.
    """

    count: int
    take: Callable[[Any], FloatArray]

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, rows: Any) -> FloatArray:
        return self.take(rows)


_TINY = 1e-9


def unit_vectors(vectors: FloatArray) -> FloatArray:
    """Vectors (..., dim) scaled to length 1; zero stays zero."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1))


def with_ridge(scatter: FloatArray, share: float) -> FloatArray:
    """A matrix of products in float64, with a share of the mean of its diagonal added to that (dim, dim).

    It can always be solved, also if vectors are all the same.
    """
    scatter = scatter.astype(np.float64)
    return scatter + max(share * np.trace(scatter) / len(scatter), _TINY) * np.eye(len(scatter))


def embed_distinct(embed: Callable[[list[_Item]], Any], items: Sequence[_Item]) -> NDArray[Any]:
    """Embed each distinct item once and give every item its row.

    Args:
        embed: Embeds a list of n items: (n, dim). It is called once, with the distinct items in order of appearance.
        items: The items.

    Returns:
        (items, dim)
    """
    row_of = {item: row for row, item in enumerate(dict.fromkeys(items))}
    return np.asarray(embed(list(row_of)))[[row_of[item] for item in items]]


Statistic = Callable[[FloatArray], FloatArray]

# Numbers drawn at a time by the bootstrap: keeps its memory near 50 MB however many units there are.
_CHUNK = 2_000_000


def mean_rows(values: FloatArray) -> FloatArray:
    """The mean of each row: (rows, units) -> (rows,)."""
    return np.asarray(values.mean(axis=1))


def bootstrap_interval(
    values: ArrayLike,
    seed: int = 0,
    resamples: int = 1000,
    statistic: Statistic = mean_rows,
) -> tuple[float, float]:
    """Percentile bootstrap interval (95 %) of a statistic (Efron and Tibshirani 1993, chapter 13).

    Args:
        values: (units,) or (units, columns); whole units (queries, pairs) are drawn with replacement.
        seed: Seed of the draws.
        resamples: Number of draws.
        statistic: (resamples, units[, columns]) -> (resamples,), e.g. ``mean_rows`` or ``spearman_rows``.

    Returns:
        The lower and the upper end, in the unit of the statistic.

    >>> bootstrap_interval([0.25, 0.25, 0.25])
    (0.25, 0.25)
    """
    draws = _resample(np.asarray(values, dtype=np.float64), seed, resamples, statistic)
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(low), float(high)


def paired_bootstrap_p(a: ArrayLike, b: ArrayLike, seed: int = 0, resamples: int = 10_000) -> float:
    """Two-sided p-value for "two systems have the same mean", from their values on the same queries.

    The differences are shifted to mean zero and resampled; p is the share of resamples whose mean is as far from
    zero as the observed one (Efron and Tibshirani 1993, section 16.4), the observation itself counted among them:
    p is never 0.

    Args:
        a: (queries,) values of one system.
        b: (queries,) values of the other on the same queries in the same order.
        seed: Seed of the draws.
        resamples: Number of draws.

    >>> paired_bootstrap_p([0.5, 0.7], [0.5, 0.7])
    1.0
    """
    left, right = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if left.ndim != 1 or left.shape != right.shape or not len(left):
        raise ValueError(f"two lists of one length, 1 or more, are needed; got shapes {left.shape} and {right.shape}")
    difference = left - right
    observed = abs(difference.mean())
    draws = np.abs(_resample(difference - difference.mean(), seed, resamples))
    # The tolerance keeps rounding from turning "equal" into "smaller" when all differences have the same size.
    as_far = int((draws >= observed - 1e-12).sum())
    return (1 + as_far) / (1 + resamples)


def _resample(values: FloatArray, seed: int, resamples: int, statistic: Statistic = mean_rows) -> FloatArray:
    """The statistic of each resample: (resamples,)."""
    units = len(values) if values.ndim else 0
    if not units or not np.isfinite(values).all():
        raise ValueError(f"one or more finite values are needed, got an array of shape {values.shape}")
    if resamples < 1:
        raise ValueError(f"resamples must be 1 or more, got {resamples}")
    generator = np.random.default_rng(seed)
    rows = max(1, _CHUNK // values.size)
    chunks = [
        statistic(values[generator.integers(units, size=(min(rows, resamples - done), units))])
        for done in range(0, resamples, rows)
    ]
    return np.concatenate(chunks)
