"""Recognising former groups in new ones, so that they keep their ids when data grows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.optimize import linear_sum_assignment

from turnlens._utils.vectors import FloatArray, IntArray

LEAST_OVERLAP = 0.3  # F1 over the texts that are in both samples
LEAST_COSINE = 0.9  # between centroids, used if too few texts are in both samples


def match_groups(
    labels: IntArray,
    former: IntArray,
    centroids: FloatArray,
    former_centroids: Mapping[int, FloatArray],
) -> dict[int, int]:
    """Match new groups to former ones, one to one; the former id of each new group that matches.

    Groups are matched first by the texts that are in both samples (the greatest sum of F1), and the remaining groups
    by their centroids.

    Args:
        labels: The new group of each vector of the sample, from 0 on, -1 for none (s,).
        former: The former group of each vector, -1 if it had none or was not in the sample (s,).
        centroids: The centroids of the new groups (groups, dim).
        former_centroids: The centroids of the former groups, of length 1, by id.
    """
    matched = _by_overlap(labels, former, len(centroids))
    free = [group for group in range(len(centroids)) if group not in matched]
    left = [id for id in former_centroids if id not in matched.values()]
    if free and left:
        norms = np.maximum(np.linalg.norm(centroids[free], axis=1, keepdims=True), 1e-12)
        cosines = centroids[free] / norms @ np.stack([former_centroids[id] for id in left]).T
        for row, column in zip(*linear_sum_assignment(cosines, maximize=True)):
            if cosines[row, column] >= LEAST_COSINE:
                matched[free[row]] = left[column]
    return matched


def _by_overlap(labels: IntArray, former: IntArray, groups: int) -> dict[int, int]:
    both = (labels >= 0) & (former >= 0)
    ids = np.unique(former[both])
    if not len(ids):
        return {}
    overlap = np.zeros((groups, len(ids)))
    np.add.at(overlap, (labels[both], np.searchsorted(ids, former[both])), 1)
    f1 = 2 * overlap / np.maximum(overlap.sum(1, keepdims=True) + overlap.sum(0, keepdims=True), 1)
    pairs = zip(*linear_sum_assignment(f1, maximize=True))
    return {int(row): int(ids[column]) for row, column in pairs if f1[row, column] >= LEAST_OVERLAP}


def pinned_labels(labels: IntArray, former: IntArray, pinned: frozenset[int]) -> tuple[IntArray, IntArray]:
    """Keep groups that a user merged or split: their members stay in them, and similar new vectors join them.

    Args:
        labels: The new group of each vector of the sample (s,).
        former: The former group of each vector, -1 for none (s,).
        pinned: The ids of the groups that a user made.

    Returns:
        The labels, with -1 for pinned vectors (s,), and the id to which each vector is pinned, -1 for none (s,).
    """
    held = np.where(np.isin(former, list(pinned)), former, -1)
    for group in np.unique(labels[labels >= 0]):
        members = labels == group
        known = former[members & (former >= 0)]
        ids, counts = np.unique(known, return_counts=True)
        if len(ids) and int(ids[counts.argmax()]) in pinned and 2 * counts.max() > len(known):
            held[members & (former < 0)] = ids[counts.argmax()]
    return np.where(held >= 0, -1, labels), held
