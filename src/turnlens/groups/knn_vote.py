"""Finding the group of any vector, and its place on the map, from its nearest fitted vectors."""

from __future__ import annotations

import numpy as np

from turnlens._utils.vectors import FloatArray, IntArray, unit_vectors
from turnlens.groups.neighbours import Neighbours

LEAST_SHARE = 1 / 3  # of all votes, including those of neighbours in no group, that the winning group needs
_ROWS_AT_ONCE = 65536
_NEAREST_PLACED = 5
_SPREAD = 0.004  # of the copies of a text around its place; the map is 2 wide


def vote(neighbours: Neighbours, labels: IntArray, least_cosine: float | FloatArray = -1.0) -> IntArray:
    """The group of most of the nearest vectors, weighted by cosine; -1 if no group gets enough votes.

    A fitted vector or its copy stays in the group that it has, unless it is lonely or no group gets enough votes.

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


def lonely_below(cosines: FloatArray, tail: float = 4.0) -> float:
    """The cosine with the nearest neighbour below which a vector is unlike all others.

    It is ``tail`` robust deviations below the median, where a bell-shaped distribution has few values.

    Args:
        cosines: The cosines of fitted vectors with their nearest neighbours (m,).
        tail: The number of deviations (median absolute deviations, scaled to match a normal distribution's).
    """
    middle = float(np.median(cosines))
    return middle - tail * 1.4826 * float(np.median(np.abs(cosines - middle)))


def place(neighbours: Neighbours, coordinates: FloatArray, seed: int) -> FloatArray:
    """Places on the map, float32 (n, 2): copies of a fitted vector are put near it, others between their neighbours.

    Args:
        neighbours: The neighbours of n vectors among m fitted ones.
        coordinates: The places of the fitted vectors (m, 2).
        seed: Seed of the spread of copies, which would otherwise hide each other.
    """
    near, cosines = neighbours.rows[:, :_NEAREST_PLACED], neighbours.cosines[:, :_NEAREST_PLACED]
    weights = np.exp((cosines - cosines[:, :1]) / 0.05)
    placed = np.einsum("nk,nkd->nd", weights / weights.sum(1, keepdims=True), coordinates[near])
    copies = neighbours.copy_of >= 0
    placed[copies] = coordinates[neighbours.copy_of[copies]]
    _, first = np.unique(neighbours.copy_of, return_index=True)
    copies[first] = False  # the first copy stays at its exact place
    random = np.random.default_rng(seed)
    placed[copies] += _SPREAD * random.standard_normal((int(copies.sum()), 2))
    return np.clip(placed, -1, 1).astype(np.float32)
