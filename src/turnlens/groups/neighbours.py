"""Exact nearest neighbours by cosine, computed in blocks, so that memory is bounded for any number of vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from turnlens._utils.progress import Advance, silent
from turnlens._utils.vectors import FloatArray, IntArray, Vectors

_SCORES_AT_ONCE = 16_000_000  # 64 MB
_PARTS = 4  # times as many parts as neighbours are looked through first
_SAME_TEXT = 1 - 1e-5  # from this cosine on, two vectors differ only by rounding and belong to the same text


@dataclass(frozen=True)
class Neighbours:
    """The nearest fitted vectors of each vector. Neither a vector itself nor its copies are among its neighbours.

    Attributes:
        rows: The numbers of the nearest fitted vectors, the nearest first, int32 (n, k).
        cosines: The cosines with them, float32 (n, k).
        copy_of: The number of the fitted vector that equals this one, or -1, int32 (n,).
    """

    rows: np.ndarray
    cosines: np.ndarray
    copy_of: np.ndarray

    def of(self, rows: IntArray) -> Neighbours:
        """The neighbours of some of the vectors."""
        return Neighbours(self.rows[rows], self.cosines[rows], self.copy_of[rows])

    def first(self, count: int) -> Neighbours:
        """The same with fewer neighbours: only the nearest of each vector."""
        return Neighbours(self.rows[:, :count], self.cosines[:, :count], self.copy_of)


def nearest(
    vectors: Vectors,
    fitted: FloatArray,
    count: int,
    advance: Advance = silent,
    members: IntArray | None = None,
) -> Neighbours:
    """The nearest fitted vectors of each vector, other than itself.

    Args:
        vectors: The vectors, of length 1 (n, dim), perhaps memory-mapped.
        fitted: The fitted vectors, of length 1 and distinct (m, dim).
        count: How many neighbours to find; there are fewer if there are not enough fitted vectors.
        advance: Called with numbers of vectors that are done.
        members: The rows of the vectors whose neighbours are wanted; by default all.
    """
    count = max(1, min(count, len(fitted) - 1))
    base = np.array(fitted, np.float32)
    wanted = np.arange(len(vectors)) if members is None else members
    rows = np.empty((len(wanted), count), np.int32)
    cosines = np.empty((len(wanted), count), np.float32)
    copies = np.full(len(wanted), -1, np.int32)
    at_once = max(1, _SCORES_AT_ONCE // max(1, len(fitted)))
    count_with_self = min(count + 1, len(fitted))
    for start in range(0, len(wanted), at_once):
        block = np.array(vectors[wanted[start : start + at_once]], np.float32)
        scores, places = _best(block, base, count_with_self)
        end = start + len(block)
        is_copy = scores[:, 0] > _SAME_TEXT
        copies[start:end][is_copy] = places[is_copy, 0]
        first = (is_copy & (count_with_self > count)).astype(int)  # the vector itself is passed over
        columns = first[:, None] + np.arange(count)
        rows[start:end] = np.take_along_axis(places, columns, 1)
        cosines[start:end] = np.take_along_axis(scores, columns, 1)
        advance(len(block))
    return Neighbours(rows, cosines, copies)


def _best(block: FloatArray, base: FloatArray, count: int) -> tuple[FloatArray, IntArray]:
    """The highest scores of each row with the base, the highest first, and their places, both (rows, count).

    Of several times as many parts of the base, the highest score of each is found first: so many scores are at least as
    high as the last of the highest of these, and hardly any others.
    """
    scores = block @ base.T
    width = max(1, len(base) // (_PARTS * count))
    parts = scores[:, : len(base) // width * width].reshape(len(scores), -1, width).max(2)
    least = np.partition(parts, -count, axis=1)[:, -count, None]
    rows, places = np.nonzero(~(scores < least))
    order = np.lexsort((-scores[rows, places], rows))
    chosen = order[np.searchsorted(rows, np.arange(len(scores)))[:, None] + np.arange(count)]
    return scores[rows[chosen], places[chosen]], places[chosen]


def nearest_within(
    vectors: Vectors, sample: IntArray, part: IntArray, count: int, advance: Advance = silent
) -> Neighbours:
    """The nearest sampled vectors of each vector that are in the same part, or in any if its part has too few.

    Args:
        vectors: The vectors, of length 1 (n, dim), perhaps memory-mapped.
        sample: The rows of the sampled vectors (m,).
        part: The part of each vector (n,).
        count: How many neighbours to find, fewer than there are sampled vectors.
        advance: Called with numbers of vectors that are done.
    """
    neighbours = Neighbours(
        np.empty((len(vectors), count), np.int32),
        np.empty((len(vectors), count), np.float32),
        np.empty(len(vectors), np.int32),
    )
    for value in np.unique(part):
        members, places = np.flatnonzero(part == value), np.flatnonzero(part[sample] == value)
        if len(places) <= count:
            places = np.arange(len(sample))
        own = nearest(vectors, vectors[sample[places]], count, advance, members)
        neighbours.rows[members] = places[own.rows]
        neighbours.cosines[members] = own.cosines
        neighbours.copy_of[members] = np.where(own.copy_of < 0, -1, places[own.copy_of])
    return neighbours
