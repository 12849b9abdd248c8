"""Metrics of ranking, such as MAP and MRR, and the exact ranking of every row against all others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from turnlens._utils.progress import progress_of
from turnlens._utils.vectors import BoolArray, FloatArray, IntArray

# Inner products held at a time (32 MB): enough queries for the matrix product to run at full speed.
BLOCK = 4_000_000
# Inner products ranked at a time: with larger arrays, most of the time goes into allocating memory.
_RANKED = 500_000
# Components are rounded to multiples of 2^-25, finer than float32 at length 1 resolves in a cosine. Every inner
# product is then a multiple of 2^-50 that float64 holds exactly, whatever order it is summed in: ties are ties, and
# figures do not depend on block size, BLAS or number of threads.
_STEPS = 2.0**25
PRODUCT_UNIT = _STEPS**-2  # what 1 means in a block of products


def on_grid(units: FloatArray) -> FloatArray:
    """Components as whole numbers of steps of 2^-25: (conversations, dim) -> (conversations, dim)."""
    return np.round(units.astype(np.float64) * _STEPS)


def product_blocks(units: FloatArray, queries: IntArray, block: int) -> Iterator[tuple[IntArray, FloatArray]]:
    """Inner products of some rows with all rows, as whole numbers: multiples of 2^-50.

    Args:
        units: (conversations, dim) of length 1 or 0.
        queries: (queries,) indices of rows.
        block: Inner products per block, roughly; at least one query's.

    Yields:
        A block of the queries, (block,), and its exact products, (block, conversations), which the caller may
        overwrite.
    """
    grid = on_grid(units)
    rows = max(1, block // len(units))
    for start in range(0, len(queries), rows):
        batch = queries[start : start + rows]
        yield batch, grid[batch] @ grid.T


def rank_conversations(
    units: FloatArray, codes: IntArray, queries: IntArray, block: int = BLOCK
) -> dict[str, FloatArray]:
    """Rank all other conversations by cosine with each query; those of its label are relevant.

    Args:
        units: (conversations, dim) embeddings of length 1 or 0.
        codes: (conversations,) the label of each, as a number.
        queries: (queries,) indices of conversations whose label occurs twice or more.
        block: Inner products held at a time.

    Returns:
        The values of every query (queries,): ``spearman`` in [-1, 1], and those of `RETRIEVAL_METRICS`.
    """
    values: dict[str, FloatArray] = {name: np.zeros(len(queries)) for name in _METRICS}
    done = 0
    step = max(1, min(block, _RANKED) // len(units))
    with progress_of("ranking conversations", len(queries)) as advance:
        for batch, products in product_blocks(units, queries, block):
            for start in range(0, len(batch), step):
                part = batch[start : start + step]
                relevant = codes[part][:, None] == codes  # (step, conversations)
                ranked = rank_rows(products[start : start + step].astype(np.int64), relevant, skip=part)
                for name, metric in _METRICS.items():
                    values[name][done : done + len(part)] = metric(ranked)
                done += len(part)
            advance(len(batch))
    return values


_LAST = np.iinfo(np.int64).max  # sorts behind every packed score


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Each row's items by descending score, in groups of equal score. Only groups with a relevant item are kept.

    Args:
        items: Items per row.
        relevant: (rows,) number of relevant items.
        tied: (rows,) sum of size³ - size over all groups of the row.
        row: (groups,) the row of each group; by row, best group first.
        above: (groups,) items ranked before the group.
        size: (groups,) items in the group.
        hits: (groups,) relevant items in the group, 1 or more.
    """

    items: int
    relevant: IntArray
    tied: FloatArray
    row: IntArray
    above: IntArray
    size: IntArray
    hits: IntArray


def rank_rows(scores: IntArray, relevant: BoolArray, skip: IntArray | None = None) -> RankedRows:
    """Rank every row.

    Args:
        scores: (rows, items) whole numbers of less than 2⁶² in size, higher is better.
        relevant: (rows, items) whether the item is relevant.
        skip: (rows,) the item of each row to leave out, such as the query itself; by default none.
    """
    # One plain sort does it: the relevance rides along as the lowest bit of the score, no indices are sorted.
    keys = np.negative(scores)
    keys <<= 1
    keys |= relevant
    rows, items = keys.shape
    if skip is not None:
        keys[np.arange(rows), skip] = _LAST
        items -= 1
    keys.sort(axis=1)
    keys = keys[:, :items]
    first = np.ones((rows, items), dtype=bool)  # whether first of its group
    first[:, 1:] = (keys[:, 1:] >> 1) != (keys[:, :-1] >> 1)
    hit = (keys & 1).ravel()
    del keys
    start = np.flatnonzero(first)  # (all groups,) places in the flattened rows
    size = np.empty_like(start)
    np.subtract(start[1:], start[:-1], out=size[:-1])
    size[-1:] = rows * items - start[-1:]
    several = np.flatnonzero(size > 1)
    cubes = size[several].astype(np.float64) ** 3 - size[several]
    tied = np.bincount(start[several] // items, cubes, minlength=rows).astype(np.float64)  # whole if no tie
    hits = np.add.reduceat(hit, start) if len(start) else np.zeros(0, dtype=np.int64)
    kept = np.flatnonzero(hits)
    start, size, hits = start[kept], size[kept], hits[kept]
    row = start // items
    counts = np.bincount(row, hits, minlength=rows).astype(np.int64)
    return RankedRows(items, counts, tied, row, start - row * items, size, hits)


def average_precision_rows(ranked: RankedRows) -> FloatArray:
    """Average precision of each row: (rows,) in [0, 1]. Ties as in section 3.3 of McSherry and Najork.

    Raises:
        ValueError: A row has no relevant item.
    """
    _check_relevant(ranked)
    row, above, size, hits = ranked.row, ranked.above, ranked.size, ranked.hits
    before_row = np.cumsum(ranked.relevant) - ranked.relevant
    hits_above = np.cumsum(hits) - hits - before_row[row]
    group = np.repeat(np.arange(len(size)), size)  # (items of the groups,) in rank order
    before = np.arange(len(group)) - (np.cumsum(size) - size)[group]  # items of the same group placed before this one
    # Given that an item is relevant, each other item of its group is relevant with chance (hits - 1) / (size - 1).
    others = (hits - 1) / np.maximum(size - 1, 1)
    precision = (hits_above[group] + 1 + before * others[group]) / (above[group] + 1 + before)
    chance = (hits / size)[group]  # that the item at this rank is relevant
    return np.bincount(row[group], chance * precision, minlength=len(ranked.relevant)) / ranked.relevant


def reciprocal_rank_rows(ranked: RankedRows) -> FloatArray:
    """Reciprocal rank of the first relevant item of each row: (rows,) in (0, 1]. Ties as in their section 3.2.

    Raises:
        ValueError: A row has no relevant item.
    """
    _check_relevant(ranked)
    _, best = np.unique(ranked.row, return_index=True)  # (rows,) the first group of each
    above, size, hits = ranked.above[best], ranked.size[best], ranked.hits[best]
    reciprocal = 1.0 / (above + 1)
    for row in np.flatnonzero(hits < size):  # only a mixed tie leaves the first relevant place open
        reciprocal[row] = expected_reciprocal_rank(int(above[row]), int(size[row]), int(hits[row]))
    return reciprocal


def expected_reciprocal_rank(above: int, size: int, hits: int) -> float:
    """Expected reciprocal rank of the first of ``hits`` relevant items in a tie of ``size``, ``above`` items before it.

    >>> expected_reciprocal_rank(0, 2, 1)
    0.75
    """
    place = np.arange(size - hits + 1)  # where in the group the first relevant item can stand
    hazard = hits / (size - place)  # it stands here, given that it stood nowhere before
    missed = np.concatenate([[1.0], np.cumprod(1.0 - hazard[:-1])])
    return float((missed * hazard / (above + 1 + place)).sum())


def spearman_binary_rows(ranked: RankedRows) -> FloatArray:
    """``spearman`` between scores and relevance (0 or 1) of each row: (rows,); 0 where one of them is constant.

    With K of N items relevant, average ranks r and tied groups of size t:
    (Σ_relevant r - K(N + 1)/2) / sqrt(((N³ - N) - Σ(t³ - t))/12 · K(N - K)/N).
    """
    count, relevant = ranked.items, ranked.relevant
    place = ranked.above + (ranked.size + 1) / 2  # average, 1 for the best
    places = np.bincount(ranked.row, ranked.hits * place, minlength=len(relevant))
    covariance = relevant * (count + 1) / 2 - places  # low places are high scores
    variance = (float(count) ** 3 - count - ranked.tied) / 12 * (relevant * (count - relevant) / max(count, 1))
    scale = np.sqrt(variance)
    return np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)


def _check_relevant(ranked: RankedRows) -> None:
    if not ranked.relevant.all():
        row = int(np.flatnonzero(ranked.relevant == 0)[0])
        raise ValueError(f"row {row} has no relevant item: the metric is undefined, leave such a query out")


# What retrieval tasks report of every query, by the names of the figures; encoders are compared by the first one.
RETRIEVAL_METRICS: dict[str, Callable[[RankedRows], FloatArray]] = {
    "map": average_precision_rows,
    "mrr": reciprocal_rank_rows,
}
_METRICS = {"spearman": spearman_binary_rows, **RETRIEVAL_METRICS}


def retrieval_metrics(rankings: Iterable[tuple[ArrayLike, ArrayLike]]) -> dict[str, FloatArray]:
    """Return the values of `RETRIEVAL_METRICS` for queries, from the scores and the relevance of their items.

    Raises:
        ValueError: Of a query, no item is relevant, a score is not finite or the lengths differ.

    >>> retrieval_metrics([([0.9, 0.8], [False, True]), ([0.9, 0.8], [True, False])])
    {'map': array([0.5, 1. ]), 'mrr': array([0.5, 1. ])}
    """
    rows = [_ranked(*ranking) for ranking in rankings]
    return {
        name: np.array([metric(row)[0] for row in rows], dtype=np.float64) for name, metric in RETRIEVAL_METRICS.items()
    }


def _ranked(scores: ArrayLike, relevant: ArrayLike) -> RankedRows:
    """One query as the only row."""
    values = np.asarray(scores, dtype=np.float64)
    flags = np.asarray(relevant, dtype=bool)
    if values.ndim != 1 or values.shape != flags.shape:
        raise ValueError(f"scores and relevant must be two lists of one length, got {values.shape} and {flags.shape}")
    if not np.isfinite(values).all():
        raise ValueError("scores must be finite numbers, got nan or inf")
    if not flags.any():
        raise ValueError("no relevant item: the metric is undefined, leave such a query out and count it")
    # Rows are ranked by whole numbers, so that ties are exact: the place of each value among the distinct ones.
    _, codes = np.unique(values, return_inverse=True)
    return rank_rows(codes[None], flags[None])
