"""Scores of candidate replies, as algebra on the vectors of a conversation's turns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from turnlens._utils.vectors import unit_vectors

# Candidates processed at a time, so that intermediate results stay in the processor's cache.
_ROWS_CONVERTED = 4096


def bi_query(before: ArrayLike) -> np.ndarray:
    """The vector whose inner product with a candidate c of length 1 is the sum of its cosines, ``Σ_i cos(turn_i, c)``.

    Args:
        before: The turns (..., n, dim).

    Returns:
        (..., dim), in the precision of ``before``.

    Raises:
        ValueError: There is no turn.
    """
    (vectors,) = checked_context(before)
    return in_precision_of(before, unit_vectors(vectors).sum(-2))


def inner_products(vectors: np.ndarray, candidates: Any) -> np.ndarray:
    """Inner products; candidates of another precision are converted a block at a time.

    Args:
        vectors: (..., dim)
        candidates: (m, dim), perhaps memory-mapped.

    Returns:
        (..., m), in the higher precision of the two, at least float32.

    Raises:
        ValueError: The dimensions differ, or there is no candidate.
    """
    candidates = checked_candidates(candidates, vectors.shape[-1])
    precision = common_precision(vectors, candidates)
    vectors = vectors.astype(precision)
    if candidates.dtype == precision:
        return np.asarray(vectors @ candidates.T)
    import torch

    products = np.empty((*vectors.shape[:-1], len(candidates)), precision)
    for start in range(0, len(candidates), _ROWS_CONVERTED):
        # A copy, as torch wants memory it may write to; it converts float16 ten times as fast as numpy.
        block = torch.from_numpy(np.array(candidates[start : start + _ROWS_CONVERTED])).float().numpy()
        products[..., start : start + len(block)] = vectors @ block.T
    return products


def checked_context(*views: ArrayLike) -> list[NDArray[np.float64]]:
    """The turns of a context in one or more views, in double precision.

    Raises:
        ValueError: The shapes differ, or there is no turn.
    """
    arrays = [np.asarray(view, dtype=np.float64) for view in views]
    shapes = [array.shape for array in arrays]
    if len(set(shapes)) > 1 or arrays[0].ndim < 2 or arrays[0].shape[-2] == 0:
        wanted = " of one shape" if len(views) > 1 else ""
        raise ValueError(f"expected at least one message (..., n, dim){wanted}, got {' and '.join(map(str, shapes))}")
    return arrays


def checked_candidates(candidates: Any, dim: int) -> np.ndarray:
    """Candidates as an array (m, dim).

    Raises:
        ValueError: The shape does not fit, there is no candidate, or they are no floating-point numbers.
    """
    candidates = np.asarray(candidates)
    if candidates.ndim != 2 or len(candidates) == 0:
        raise ValueError(f"expected at least one candidate (m, {dim}), got shape {candidates.shape}")
    if candidates.shape[1] != dim:
        raise ValueError(f"the candidates have {candidates.shape[1]} dimensions, the conversation has {dim}")
    if not np.issubdtype(candidates.dtype, np.floating):
        raise ValueError(f"the candidates must be floating-point numbers, got {candidates.dtype}")
    return candidates


def common_precision(*arrays: np.ndarray) -> np.dtype[Any]:
    """The highest precision of some arrays, at least float32."""
    return np.result_type(np.float32, *(array.dtype for array in arrays))


def in_precision_of(given: ArrayLike, result: np.ndarray) -> np.ndarray:
    """A result in the precision of what was given, at least float32."""
    return result.astype(common_precision(np.asarray(given)))
