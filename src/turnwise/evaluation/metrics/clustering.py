"""How well clusters agree with labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from turnwise._utils.vectors import IntArray


def purity(clusters: ArrayLike, labels: ArrayLike) -> float:
    """Share of items that carry the commonest label of their cluster, in (0, 1].

    Every distinct cluster value is a cluster, a noise cluster such as -1 included.

    Args:
        clusters: (items,) cluster of each item, numbers or strings.
        labels: (items,) true label of each item, numbers or strings.

    Raises:
        ValueError: The lengths differ or there is no item.

    >>> purity([0, 0, 0, 1], ["taxi", "taxi", "hotel", "hotel"])
    0.75
    """
    table = _contingency(clusters, labels)
    return float(table.max(axis=1).sum() / table.sum())


def assignment_accuracy(clusters: ArrayLike, labels: ArrayLike) -> float:
    """Share of items whose cluster stands for their label, under the best one-to-one assignment, in (0, 1].

    Args:
        clusters: (items,) cluster of each item, numbers or strings.
        labels: (items,) true label of each item, numbers or strings.

    Raises:
        ValueError: The lengths differ or there is no item.

    >>> assignment_accuracy([0, 0, 1, 2], ["taxi", "taxi", "taxi", "hotel"])  # cluster 1 stands for nothing
    0.75
    """
    table = _contingency(clusters, labels)
    chosen = linear_sum_assignment(table, maximize=True)
    return float(table[chosen].sum() / table.sum())


def _contingency(clusters: ArrayLike, labels: ArrayLike) -> IntArray:
    """Number of items of each cluster and label: (clusters, labels)."""
    left, right = np.asarray(clusters), np.asarray(labels)
    if left.ndim != 1 or left.shape != right.shape or not len(left):
        raise ValueError(f"two lists of one length, 1 or more, are needed; got shapes {left.shape} and {right.shape}")
    return np.asarray(contingency_matrix(left, right))
