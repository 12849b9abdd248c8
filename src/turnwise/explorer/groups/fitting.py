"""Fitting groups to a sample: fine groups, and coarse groups that consist of fine ones.

How many groups there are is a trade: more groups bring every vector nearer to the middle of its group, and cost one bit
more to name for each doubling of their number. Communities are found at a ladder of resolutions, and those are chosen
whose closeness less the price of these bits is highest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log2, sqrt
from typing import Any

import numpy as np
from scipy import sparse

from turnwise._utils.vectors import FloatArray, IntArray
from turnwise.explorer.groups.communities import by_size, coarser, communities, neighbour_graph
from turnwise.explorer.groups.neighbours import Neighbours
from turnwise.explorer.groups.settings import GroupSettings

_RESOLUTIONS = tuple(0.25 * 2 ** (step / 2) for step in range(13))  # 0.25 to 16
_BITS = {"coarse": 0.075, "medium": 0.055, "fine": 0.04}  # of cosine, what a doubling of the groups must gain
_COARSE_RESOLUTION = 1.0
_HALVINGS = 12  # of the range of resolutions, in search of a number of groups


@dataclass(frozen=True)
class Fitted:
    """Groups of a sample.

    Attributes:
        fine: The fine group of each vector, -1 for none (s,).
        coarse: The coarse group of each fine one (fine groups,).
    """

    fine: IntArray
    coarse: IntArray


@dataclass(frozen=True)
class _Partition:
    """The communities at one resolution that are large enough to be groups, -1 for all others (s,)."""

    resolution: float
    labels: IntArray

    @property
    def groups(self) -> int:
        return int(self.labels.max(initial=-1)) + 1


def fit_groups(vectors: FloatArray, neighbours: Neighbours, settings: GroupSettings) -> Fitted:
    """Find the groups of a sample.

    Args:
        vectors: The vectors of the sample, of length 1 (s, dim).
        neighbours: The neighbours of each of them, among the sample.
        settings: How groups are made.
    """
    graph = neighbour_graph(neighbours.rows)
    least = max(neighbours.rows.shape[1] / 2, settings.least_share * len(vectors))

    def partition(resolution: float) -> _Partition:
        labels = communities(graph, resolution, settings.seed)
        return _Partition(resolution, by_size(np.where(np.bincount(labels)[labels] >= least, labels, -1)))

    if isinstance(settings.granularity, int):
        chosen = _with_number(partition, settings.granularity)
    else:
        bit = _BITS[settings.granularity]
        chosen = max(
            map(partition, _RESOLUTIONS),
            key=lambda candidate: closeness(vectors, candidate.labels) - bit * log2(max(candidate.groups, 1)),
        )
    fine = chosen.labels
    if not chosen.groups:
        return Fitted(fine, np.zeros(0, np.int64))
    inside = np.flatnonzero(fine >= 0)
    coarse = coarser(graph[inside][:, inside], fine[inside], _COARSE_RESOLUTION, settings.seed)
    return Fitted(fine, coarse)


def fit_parts(vectors: FloatArray, neighbours: Neighbours, part: IntArray, settings: GroupSettings) -> Fitted:
    """Find the groups of each part of a sample by itself.

    Args:
        vectors: The vectors of the sample, of length 1 (s, dim).
        neighbours: The neighbours of each of them, in the same part of the sample.
        part: The part of each vector, -1 for those that are to be in no group (s,).
        settings: How groups are made.
    """
    fine = np.full(len(vectors), -1, np.int64)
    coarse = np.zeros(0, np.int64)
    for value in np.unique(part[part >= 0]):
        rows = np.flatnonzero(part == value)
        near = replace(neighbours.of(rows), rows=np.searchsorted(rows, neighbours.rows[rows]))
        fitted = fit_groups(vectors[rows], near, settings)
        fine[rows] = np.where(fitted.fine >= 0, fitted.fine + len(coarse), -1)
        coarse = np.append(coarse, fitted.coarse + coarse.max(initial=-1) + 1)
    return Fitted(fine, coarse)


def closeness(vectors: FloatArray, labels: IntArray) -> float:
    """The mean cosine of vectors with the mean of all others in their group; 0 for those in no group or alone.

    Since a vector does not count towards the mean that it is compared with, small groups are not favoured.

    Args:
        vectors: The vectors, of length 1 (s, dim).
        labels: The group of each, -1 for none (s,).
    """
    inside = np.flatnonzero((labels >= 0) & (np.bincount(labels + 1)[labels + 1] > 1))
    shape = (int(labels.max(initial=-1)) + 1, len(labels))
    members = sparse.csr_matrix((np.ones(len(inside), np.float32), (labels[inside], inside)), shape)
    others = (members @ vectors)[labels[inside]] - vectors[inside]  # (vectors in groups, dim)
    cosines = (others * vectors[inside]).sum(1) / np.maximum(np.linalg.norm(others, axis=1), 1e-9)
    return float(cosines.sum() / max(len(labels), 1))


def _with_number(partition: Callable[[float], _Partition], number: int) -> _Partition:
    """The communities whose number is nearest to the one that is asked for, by halving the range of resolutions."""
    low, high = 2.0**-8, 2.0**8
    tried = []
    for _ in range(_HALVINGS):
        tried.append(partition(sqrt(low * high)))
        if tried[-1].groups == number:
            break
        low, high = (tried[-1].resolution, high) if tried[-1].groups < number else (low, tried[-1].resolution)
    return min(tried, key=lambda candidate: abs(candidate.groups - number))


def split_group(near: IntArray, labels: IntArray, group: int, seed: int = 0) -> IntArray | None:
    """The parts of a group, numbered from 0 (members,); ``None`` where it has no parts.

    The resolution is raised until there are at least two parts of some size.

    Args:
        near: The nearest neighbours of each vector of the sample, among the sample (s, k).
        labels: The group of each vector (s,).
        group: The group to split.
        seed: Seed of the communities.
    """
    members = np.flatnonzero(labels == group)
    if len(members) < 4:
        return None
    graph = neighbour_graph(near)[members][:, members]
    least = max(2, len(members) // 20)
    for resolution in (0.25, 0.5, 1, 2, 4, 8):
        parts = communities(graph, resolution, seed)
        large = np.flatnonzero(np.bincount(parts) >= least)
        if len(large) > 1:
            return _nearest_large(graph, parts, large)
    return None


def _nearest_large(graph: Any, parts: IntArray, large: IntArray) -> IntArray:
    """Join each small part to the large part with which it has the most links."""
    links = np.stack([np.asarray(graph @ (parts == part)).ravel() for part in large], axis=1)
    place = np.full(parts.max() + 1, -1)
    place[large] = np.arange(len(large))
    return np.where(place[parts] >= 0, place[parts], links.argmax(1)).astype(np.int64)
