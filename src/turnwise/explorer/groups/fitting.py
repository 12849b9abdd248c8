"""Fitting groups to a sample: fine groups, and coarse groups that consist of fine ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from turnwise._utils.vectors import IntArray
from turnwise.explorer.groups.communities import by_size, coarser, communities, neighbour_graph, share_inside
from turnwise.explorer.groups.neighbours import Neighbours
from turnwise.explorer.groups.settings import GroupSettings

_RESOLUTIONS = (4.0, 2.0, 1.0, 0.5, 0.25)
_LEAST_INSIDE = 0.9  # the least share, by weight, of the links between neighbours that fine groups must contain


@dataclass(frozen=True)
class Fitted:
    """Groups of a sample.

    Attributes:
        fine: The fine group of each vector, -1 for none (s,).
        coarse: The coarse group of each fine one (fine groups,).
    """

    fine: IntArray
    coarse: IntArray


def fit_groups(neighbours: Neighbours, settings: GroupSettings) -> Fitted:
    """Find the groups of a sample.

    Args:
        neighbours: The neighbours of each vector of the sample, among the sample.
        settings: How groups are made.
    """
    graph = neighbour_graph(neighbours.rows)
    least = max(neighbours.rows.shape[1] / 2, settings.least_share * len(neighbours.rows))
    for resolution in _RESOLUTIONS if settings.resolution is None else (settings.resolution,):
        found = communities(graph, resolution, settings.seed)
        if share_inside(graph, found) >= _LEAST_INSIDE:
            break
    fine = by_size(np.where(np.bincount(found)[found] >= least, found, -1))
    if fine.max(initial=-1) < 0:
        return Fitted(fine, np.zeros(0, np.int64))
    inside = np.flatnonzero(fine >= 0)
    coarse = coarser(graph[inside][:, inside], fine[inside], settings.coarse_resolution, settings.seed)
    return Fitted(fine, coarse)


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
