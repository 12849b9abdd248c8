"""Fitting groups to a sample: fine groups, and coarse groups that consist of fine ones.

Many small communities of the neighbour graph are merged two at a time. How many groups there are is a trade: more
groups bring every vector nearer to the middle of its group, and cost more bits to name. Those are chosen for which the
logarithm of closeness, less the price of these bits, as a share of those that would name each vector, is highest. Since
a gain counts by what there was before, groups of noisy messages, which are never close, are as fine as others. Neither
a vector nor the nearest others count for its closeness: a sentence that some people repeat is no group. Then each
vector joins the group whose mean is nearest. Requests have a lower price, so that small groups are found, but at most a
quarter more groups than at the usual one, since noise would be split ever further; a large group that is therefore in
two parts is joined again, since these are much more alike than groups usually are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from math import log, log2
from typing import Any

import numpy as np
from scipy import sparse

from turnlens._utils.vectors import FloatArray, IntArray, unit_vectors
from turnlens.groups.communities import LEAST_CLOSENESS, by_size, coarser, communities, joined, merged, neighbour_graph
from turnlens.groups.group_settings import GroupSettings, neighbours_among
from turnlens.groups.neighbours import Neighbours

_RESOLUTION = 64.0  # of the communities that are merged: far too many to be groups
_STEPS = 4  # numbers of groups that are tried for each doubling, and times as many around the best of these
_COPIES = 1 / 8  # of the neighbours of a vector, the nearest, may repeat it, and do not count for its closeness
_PRICE = 1.0  # of the logarithm of closeness: what as many groups as vectors would cost
_PRICE_OF_REQUESTS = 0.7
_MORE = 1.25  # times as many groups of requests as at the usual price, at most
_ALIKE = 0.6  # groups of requests that are so much more alike than usual are one
_TIMES = {"coarse": 0.5, "medium": 1, "fine": 2}  # as many groups as are best
_ROUNDS = 3  # in which vectors join the nearest group


@dataclass(frozen=True)
class Fitted:
    """Groups of a sample.

    Attributes:
        fine: The fine group of each vector, -1 for none (s,).
        coarse: The coarse group of each fine one (fine groups,).
    """

    fine: IntArray
    coarse: IntArray


def fit_groups(
    vectors: FloatArray,
    neighbours: Neighbours,
    settings: GroupSettings,
    canned: IntArray | None = None,
    requests: bool = False,
) -> Fitted:
    """Find the groups of a sample.

    Args:
        vectors: The vectors of the sample, of length 1 (s, dim).
        neighbours: The neighbours of each of them, among the sample.
        settings: The settings of the groups.
        canned: The canned text of each, each of which is a group; -1 for none (s,).
        requests: All of them are requests.
    """
    graph = neighbour_graph(neighbours.rows)
    parts = small_communities(graph, settings.seed)
    levels = merged(sums_of(vectors, parts))  # (parts, parts)
    least = neighbours.rows.shape[1] / 2

    @cache
    def groups_at(level: int) -> IntArray:
        labels = levels[level][parts]
        return settled(vectors, by_size(np.where(np.bincount(labels)[labels] >= least, labels, -1)))

    def groups_near(number: float) -> IntArray:
        sizes = np.bincount(parts)
        large = [int((np.bincount(level, weights=sizes) >= least).sum()) for level in levels]
        return groups_at(int(np.abs(np.asarray(large) - number).argmin()))

    if isinstance(settings.granularity, int):
        fine = groups_near(settings.granularity)
    else:
        nearest = neighbours.rows[:, : max(1, round(_COPIES * neighbours.rows.shape[1]))]
        best_at = _best_at(vectors, nearest, groups_at, len(levels))
        fine = best_at(_PRICE)
        if requests:
            finer, most = best_at(_PRICE_OF_REQUESTS), _MORE * _count(fine)
            fine = finer if _count(finer) <= most else groups_near(most)
            whole = joined(sums_of(vectors, fine), np.bincount(fine[fine >= 0]), _ALIKE)
            fine = by_size(np.append(whole, -1)[fine])
        if settings.granularity != "medium":
            fine = groups_near(_TIMES[settings.granularity] * _count(fine))
    if canned is not None:
        fine = by_size(np.where(canned >= 0, canned + _count(fine), fine))
    if not _count(fine):
        return Fitted(fine, np.zeros(0, np.int64))
    return Fitted(fine, coarser(graph, fine, settings.seed))


def small_communities(graph: Any, seed: int) -> IntArray:
    """The community of each vector, far too many to be groups, from `neighbour_graph` (m,)."""
    return communities(graph, _RESOLUTION, seed)


def fit_parts(
    vectors: FloatArray,
    neighbours: Neighbours,
    part: IntArray,
    settings: GroupSettings,
    canned: IntArray | None = None,
    requests: int | None = None,
) -> Fitted:
    """Find the groups of each part of a sample by itself, with its own neighbours; a part of -1 has none.

    Arguments are as for `fit_groups`, but that requests are those of one part, if any is.
    """
    fine = np.full(len(vectors), -1, np.int64)
    coarse = np.zeros(0, np.int64)
    for value in np.unique(part[part >= 0]):
        rows = np.flatnonzero(part == value)
        own = neighbours.of(rows).first(neighbours_among(len(rows)))
        stock = None if canned is None else canned[rows]
        if stock is not None and (len(rows) < 2 or not np.isin(own.rows, rows).all()):  # too few but canned texts
            fitted = Fitted(by_size(stock), np.arange(len(np.unique(stock))))
        else:
            near = replace(own, rows=np.searchsorted(rows, own.rows))
            fitted = fit_groups(vectors[rows], near, settings, stock, value == requests)
        fine[rows] = np.where(fitted.fine >= 0, fitted.fine + len(coarse), -1)
        coarse = np.append(coarse, fitted.coarse + coarse.max(initial=-1) + 1)
    return Fitted(fine, coarse)


def settled(vectors: FloatArray, labels: IntArray) -> IntArray:
    """Groups after each vector has joined the one whose mean is nearest, some times over."""
    for _ in range(_ROUNDS if _count(labels) else 0):
        labels = by_size((vectors @ unit_vectors(sums_of(vectors, labels)).T).argmax(1))
    return labels


def closeness(vectors: FloatArray, labels: IntArray, nearest: IntArray) -> float:
    """The mean cosine of vectors with the mean of their group without themselves and their nearest neighbours.

    It is 0 for those in no group, and where nobody is left. So neither small groups nor repeated texts are favoured.

    Args:
        vectors: The vectors, of length 1 (s, dim).
        labels: The group of each, -1 for none (s,).
        nearest: The nearest neighbours of each (s, few).
    """
    inside = np.flatnonzero(labels >= 0)
    groups = labels[inside]
    others, left = sums_of(vectors, labels)[groups] - vectors[inside], np.bincount(groups)[groups] - 1
    for near in nearest[inside].T:
        same = labels[near] == groups
        others -= np.where(same[:, None], vectors[near], 0)
        left -= same
    return float((unit_vectors(others) * vectors[inside])[left > 0].sum() / max(len(labels), 1))


def sums_of(vectors: FloatArray, labels: IntArray) -> FloatArray:
    """The sum of the vectors of each group (groups, dim); a label of -1 is no group."""
    inside = np.flatnonzero(labels >= 0)
    members = sparse.csr_matrix(
        (np.ones(len(inside), np.float32), (labels[inside], inside)), (_count(labels), len(labels))
    )
    return np.asarray(members @ vectors)


def _count(labels: IntArray) -> int:
    return int(labels.max(initial=-1)) + 1


def _best_at(
    vectors: FloatArray, nearest: IntArray, groups_at: Callable[[int], IntArray], largest: int
) -> Callable[[float], IntArray]:
    """The groups that are best at a price: of some numbers for each doubling from 2 on, and more around the best."""
    centred, bits = unit_vectors(vectors - vectors.mean(0)), max(log(len(vectors)), 1)

    @cache
    def tried(number: int) -> tuple[float, float]:
        labels = groups_at(number - 1)
        return log(max(closeness(centred, labels, nearest), LEAST_CLOSENESS)), log(max(_count(labels), 1)) / bits

    def best_of(steps: Iterable[float], price: float) -> int:
        numbers = sorted({min(max(round(2**step), min(2, largest)), largest) for step in steps})
        return max(numbers, key=lambda number: tried(number)[0] - price * tried(number)[1])

    def best(price: float) -> IntArray:
        every = range(_STEPS, int(_STEPS * log2(largest)) + 1)
        rough = best_of((step / _STEPS for step in every), price) if largest > 1 else 1
        around = range(-_STEPS, _STEPS + 1)
        return groups_at(best_of((log2(rough) + step / _STEPS**2 for step in around), price) - 1)

    return best


def split_group(graph: Any, labels: IntArray, group: int) -> IntArray | None:
    """The parts of a group, numbered from 0 (members,); ``None`` where it has no parts.

    The resolution is raised until there are at least two parts of some size.

    Args:
        graph: The weights between the vectors of the sample, from `neighbour_graph` (s, s).
        labels: The group of each vector (s,).
        group: The group to split.
    """
    members = np.flatnonzero(labels == group)
    if len(members) < 4:
        return None
    graph = graph[members][:, members]
    least = max(2, len(members) // 20)
    for resolution in (0.25, 0.5, 1, 2, 4, 8):
        parts = communities(graph, resolution, seed=0)
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
