"""Exact nearest neighbours by cosine, block by block, so that memory is bounded however many vectors there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from turnwise._utils.vectors import FloatArray, IntArray
from turnwise.explorer.progress import Advance, silent

_SCORES_AT_ONCE = 16_000_000  # 64 MB
_SAME_TEXT = 1 - 1e-5  # cosine from which two vectors are of one text, rounding apart


@dataclass(frozen=True)
class Neighbours:
    """The nearest of some fitted vectors, for each of any vectors; no vector is its own neighbour, nor its copies.

    Attributes:
        rows: Which of the fitted vectors, the nearest first, int32 (n, k).
        cosines: float32 (n, k).
        copy_of: The fitted vector that is the same, -1 where none is, int32 (n,).
    """

    rows: np.ndarray
    cosines: np.ndarray
    copy_of: np.ndarray

    def of(self, rows: IntArray) -> Neighbours:
        """Those of some of the vectors."""
        return Neighbours(self.rows[rows], self.cosines[rows], self.copy_of[rows])


def nearest(vectors: FloatArray, fitted: FloatArray, count: int, advance: Advance = silent) -> Neighbours:
    """The nearest fitted vectors of each vector, other than itself.

    Args:
        vectors: Of length 1 (n, dim), perhaps memory-mapped.
        fitted: Of length 1 and distinct (m, dim).
        count: How many neighbours; fewer where there are not as many.
        advance: Told how many vectors are done.
    """
    import torch  # not for neighbours that are known already

    count = max(1, min(count, len(fitted) - 1))
    base = torch.from_numpy(np.array(fitted, np.float32))
    rows = np.empty((len(vectors), count), np.int32)
    cosines = np.empty((len(vectors), count), np.float32)
    copies = np.full(len(vectors), -1, np.int32)
    at_once = max(1, _SCORES_AT_ONCE // max(1, len(fitted)))
    wanted = min(count + 1, len(fitted))
    for start in range(0, len(vectors), at_once):
        block = torch.from_numpy(np.array(vectors[start : start + at_once], np.float32))
        found, which = torch.topk(block @ base.T, wanted, dim=1)
        scores, places = found.numpy(), which.numpy()
        end = start + len(block)
        is_copy = scores[:, 0] > _SAME_TEXT
        copies[start:end][is_copy] = places[is_copy, 0]
        first = (is_copy & (wanted > count)).astype(int)  # the vector itself is passed over
        columns = first[:, None] + np.arange(count)
        rows[start:end] = np.take_along_axis(places, columns, 1)
        cosines[start:end] = np.take_along_axis(scores, columns, 1)
        advance(len(block))
    return Neighbours(rows, cosines, copies)
