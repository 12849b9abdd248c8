"""Scores of next messages in numpy: sums of cosines, and the queries of a reply head."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from safetensors.numpy import load_file, save_file

from turnlens._utils.vectors import BoolArray, FloatArray, unit_vectors

HEAD_FILE = "reply_head.safetensors"
SAME, OTHER = 0, 1  # the speaker of a turn, seen from the candidate's


class HeadArrays(NamedTuple):
    """The weights of a `turnlens.encoders.reply_head.ReplyHead`, which says what they mean.

    Attributes:
        recency: w (2, turns).
        context: W (2, dim, dim).
        candidate: C (dim, dim).
    """

    recency: FloatArray
    context: FloatArray
    candidate: FloatArray

    @property
    def turns(self) -> int:
        """The number of turns back that the head looks."""
        return self.recency.shape[1]

    def map_candidates(self, vectors: FloatArray) -> FloatArray:
        """Vectors of any length (m, dim) as candidates, float32 (m, dim) of length 1."""
        units = unit_vectors(vectors).astype("float32")
        return unit_vectors(units + units @ self.candidate.T)

    def queries(self, vectors: FloatArray, same: BoolArray, present: BoolArray) -> FloatArray:
        """The queries of contexts, of length 1 (contexts, dim), as from `turnlens.encoders.reply_head.ReplyHead`."""
        recency = self.recency[:, : same.shape[1]]
        weights = np.where(same, recency[SAME], recency[OTHER]) * present  # (contexts, turns)
        query = _weighted(weights, vectors)
        for relation, of_relation in ((SAME, same), (OTHER, ~same)):
            query = query + _weighted(weights * of_relation, vectors) @ self.context[relation].T
        return unit_vectors(query)


def head_of(encoder: Any) -> HeadArrays | None:
    """The weights of an encoder's reply head; ``None`` if it has none."""
    head = getattr(encoder, "reply_head", None)
    return head if head is None or isinstance(head, HeadArrays) else head.arrays()


def check_head(head: HeadArrays, dim: int | None) -> None:
    """Raise ``ValueError`` if a head is not for vectors of this length, or is not finite."""
    expected = head.candidate.shape[0]
    if dim != expected:
        raise ValueError(f"the reply head is for vectors of {expected} numbers, this encoder gives {dim}")
    if not all(np.isfinite(weight).all() for weight in head):
        raise ValueError("the reply head is not finite")


def write_head(head: HeadArrays, path: Path) -> None:
    """Write a head into a file."""
    save_file({name: np.ascontiguousarray(weight) for name, weight in head._asdict().items()}, path)


def read_head(path: Path) -> HeadArrays:
    """The head in a file.

    Raises:
        ValueError: The file does not hold such a head.
    """
    weights = load_file(path)
    shapes = {name: tuple(weight.shape) for name, weight in weights.items()}
    dim, turns = shapes.get("candidate", (0,))[0], shapes.get("recency", (0, 0))[-1]
    if shapes != {"recency": (2, turns), "context": (2, dim, dim), "candidate": (dim, dim)} or not dim * turns:
        raise ValueError(f"{path}: expected the tensors recency, context and candidate of a reply head, got {shapes}")
    return HeadArrays(**{name: weight.astype(np.float32, copy=False) for name, weight in weights.items()})


def _weighted(weights: FloatArray, vectors: FloatArray) -> FloatArray:
    """Sums of weighted vectors: (contexts, turns) and (contexts, turns, dim) to (contexts, dim)."""
    return (weights[:, None].astype(np.float32) @ vectors)[:, 0]


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
    products = np.empty((*vectors.shape[:-1], len(candidates)), precision)
    for start in range(0, len(candidates), _ROWS_CONVERTED):
        block = candidates[start : start + _ROWS_CONVERTED].astype(precision)
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
    """Convert a result to the precision of an input, at least float32."""
    return result.astype(common_precision(np.asarray(given)))
