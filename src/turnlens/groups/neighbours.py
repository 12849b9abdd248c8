"""Exact nearest neighbours by cosine, and their vote on the group of a vector (k-NN).

Neighbours are computed in blocks, so that memory is bounded for any number of vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from turnlens._utils.progress import Advance, silent
from turnlens._utils.vectors import FloatArray, IntArray, Vectors, unit_vectors

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
    vectors: Vectors, fitted: FloatArray, count: int, advance: Advance = silent, members: IntArray | None = None
) -> Neighbours:
    """The nearest fitted vectors of each vector, other than itself.

    Args:
        vectors: The vectors, of length 1 (n, dim), perhaps memory-mapped.
        fitted: The fitted vectors, of length 1 and distinct (m, dim).
        count: The number of neighbours; there are fewer if there are not enough fitted vectors.
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
        scores, places = _highest(block, base, count_with_self)
        end = start + len(block)
        is_copy = scores[:, 0] > _SAME_TEXT
        copies[start:end][is_copy] = places[is_copy, 0]
        first = (is_copy & (count_with_self > count)).astype(int)  # the vector itself is passed over
        columns = first[:, None] + np.arange(count)
        rows[start:end] = np.take_along_axis(places, columns, 1)
        cosines[start:end] = np.take_along_axis(scores, columns, 1)
        advance(len(block))
    return Neighbours(rows, cosines, copies)


def _highest(block: FloatArray, base: FloatArray, count: int) -> tuple[FloatArray, IntArray]:
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
        count: The number of neighbours, fewer than there are sampled vectors.
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


LEAST_SHARE = 1 / 3  # of all votes, including those of neighbours in no group, that the winning group needs
_ROWS_AT_ONCE = 65536


def vote(neighbours: Neighbours, labels: IntArray, least_cosine: float | FloatArray = -1.0) -> IntArray:
    """The group of most of the nearest vectors, weighted by cosine; -1 if no group gets enough votes.

    A fitted vector or its copy stays in the group that it has, unless it is an outlier or no group gets enough votes.

    Args:
        neighbours: The neighbours of n vectors among m fitted ones.
        labels: The groups of the fitted vectors, -1 for none (m,).
        least_cosine: If the cosine with the nearest neighbour is below this, a vector belongs to no group; for all
            vectors, or for each (n,).

    Returns:
        (n,)
    """
    groups, shares = votes_of(neighbours, labels)
    own = np.append(labels, -1)[neighbours.copy_of]
    is_in_group = (shares >= LEAST_SHARE) & (neighbours.cosines[:, 0] >= least_cosine)
    return np.where(is_in_group, np.where(own >= 0, own, groups), -1)


def votes_of(neighbours: Neighbours, labels: IntArray) -> tuple[IntArray, FloatArray]:
    """The group with the most votes of the nearest vectors (n,), and its share of all votes (n,).

    Votes are weighted by cosine. The group is -1 and the share 0 if all neighbours are in no group.

    Args:
        neighbours: The neighbours of n vectors among m fitted ones.
        labels: The groups of the fitted vectors, -1 for none (m,).
    """
    groups = np.full(len(neighbours.rows), -1, np.int64)
    shares = np.zeros(len(groups))
    for start in range(0, len(groups), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        near, weights = labels[neighbours.rows[part]], np.clip(neighbours.cosines[part], 1e-6, None)
        order = np.argsort(near, axis=1, kind="stable")
        near, votes = np.take_along_axis(near, order, 1), np.cumsum(np.take_along_axis(weights, order, 1), axis=1)
        is_last = np.concatenate([near[:, 1:] != near[:, :-1], np.ones((len(near), 1), bool)], axis=1)
        # The votes for a run of equal groups are the difference of the cumulative sums at its ends.
        ends = np.where(is_last, votes, 0)
        before = np.concatenate([np.zeros((len(near), 1)), np.maximum.accumulate(ends, axis=1)[:, :-1]], axis=1)
        own = np.where(is_last & (near >= 0), votes - before, 0)
        best = own.argmax(axis=1)
        rows = np.arange(len(near))
        shares[part] = own[rows, best] / votes[:, -1]
        groups[part] = np.where(shares[part] > 0, near[rows, best], -1)
    return groups, shares


def centroids_of(vectors: FloatArray, ids: IntArray) -> dict[int, FloatArray]:
    """The mean vector of each group, scaled to length 1, by the group's id."""
    return {int(id): unit_vectors(vectors[ids == id].mean(0)) for id in np.unique(ids[ids >= 0])}


_TAIL = 4 * 1.4826  # median absolute deviations: four standard ones of a normal distribution


def outlier_cosine(cosines: FloatArray) -> float:
    """Return the cosine below which a vector is an outlier, from the cosines of fitted ones with their nearest (m,)."""
    middle = float(np.median(cosines))
    return middle - _TAIL * float(np.median(np.abs(cosines - middle)))
