"""The agreement of clusters with labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from turnlens._utils.vectors import IntArray


def discovery_figures(groups: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """Measure the agreement of discovered groups with labels; items may be in no group.

    ``accuracy`` matches groups and labels one to one. ``precision`` is the share of items that carry the commonest
    label of their group, ``recall`` the share that are in the commonest group of their label, ``f1`` their harmonic
    mean. These four are those of Perkins and Yang (EMNLP 2019), and with the same formulas those of DSTC 11 track 2,
    which adds ``nmi`` and ``ari``, normalized mutual information and the adjusted Rand index. Their systems put
    everything into a group. Here an item in no group counts as wrong in the first four figures; in the last two, all
    of these items count as one group.

    Args:
        groups: (items,) group of each item, -1 for none.
        labels: (items,) true label of each item, numbers or strings.

    Returns:
        The six figures and ``left_out``, the share of items in no group, all in [0, 1] (``ari`` may be below 0).

    Raises:
        ValueError: The lengths differ or there is no item.

    >>> figures = discovery_figures([0, 0, 0, 1, -1], ["taxi", "taxi", "hotel", "hotel", "hotel"])
    >>> [figures[name] for name in ("accuracy", "precision", "recall", "f1", "left_out")]
    [0.6, 0.6, 0.6, 0.6, 0.2]
    """
    table = contingency(groups, labels)
    items, ids = table.sum(), np.unique(groups)
    table = table[ids != -1]
    precision, recall = (float(table.max(axis=axis, initial=0).sum() / items) for axis in (1, 0))
    return {
        "accuracy": float(table[linear_sum_assignment(table, maximize=True)].sum() / items),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        "nmi": float(normalized_mutual_info_score(labels, groups)),
        "ari": float(adjusted_rand_score(labels, groups)),
        "left_out": float((items - table.sum()) / items),
    }


def contingency(clusters: ArrayLike, labels: ArrayLike) -> IntArray:
    """Number of items of each cluster and label: (clusters, labels)."""
    left, right = np.asarray(clusters), np.asarray(labels)
    if left.ndim != 1 or left.shape != right.shape or not len(left):
        raise ValueError(f"two lists of one length, 1 or more, are needed; got shapes {left.shape} and {right.shape}")
    return np.asarray(contingency_matrix(left, right))
