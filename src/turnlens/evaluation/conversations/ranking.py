"""Every conversation as a query against all others, in blocks: what relatedness, retrieval and uniformity share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from turnlens._utils.progress import progress_of
from turnlens._utils.vectors import FloatArray, IntArray
from turnlens.evaluation.metrics.ranking_rows import RETRIEVAL_METRICS, rank_rows, spearman_binary_rows

# Inner products held at a time (32 MB): enough queries for the matrix product to run at full speed.
BLOCK = 4_000_000
# Inner products ranked at a time: with larger arrays, most of the time goes into allocating memory.
_RANKED = 500_000
# Components are rounded to multiples of 2^-25, finer than float32 at length 1 resolves in a cosine. Every inner
# product is then a multiple of 2^-50 that float64 holds exactly, whatever order it is summed in: ties are ties, and
# figures do not depend on block size, BLAS or number of threads.
_STEPS = 2.0**25
PRODUCT_UNIT = _STEPS**-2  # what 1 means in a block of products
_METRICS = {"spearman": spearman_binary_rows, **RETRIEVAL_METRICS}


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
