"""Groups of a sample as a store remembers them.

They are unchanged as long as the data are. What is new joins them, as long as it is little and like what there was; or
else groups are found anew, and matched to the former ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np

from turnlens._utils.vectors import BoolArray, FloatArray, IntArray
from turnlens.groups.fitting import Fitted, fit_parts
from turnlens.groups.group_matching import match_groups, pinned_labels
from turnlens.groups.group_memory import GroupMemory, KnownGroup, no_memory
from turnlens.groups.group_settings import GroupSettings
from turnlens.groups.knn_vote import centroids_of, lonely_below, vote
from turnlens.groups.neighbours import Neighbours

_GROWN = 0.2  # of a sample; groups that more has joined are found anew
_AS_BEFORE = 0.7  # of the texts have the nearest neighbour that they had, or the vectors are others


def remembered_groups(
    keys: np.ndarray,
    vectors: FloatArray,
    neighbours: Neighbours,
    part: IntArray,
    settings: GroupSettings,
    former: GroupMemory | None,
    stock: IntArray | None = None,
    requests: tuple[int, Sequence[str]] | None = None,
    in_any_part: np.ndarray | None = None,
) -> GroupMemory:
    """The groups of a sample; those that match former groups get their ids.

    Args:
        keys: The hash of each text of the sample, sorted (s,).
        vectors: The vectors of these texts, of length 1 (s, dim).
        neighbours: The neighbours of each vector, in the same part of the sample.
        part: The part of each vector, each of which has groups of its own; -1 for no group (s,).
        settings: How groups are made.
        former: The memory of an earlier sample.
        stock: The stock text of each, each of which is a group; -1 for none (s,).
        requests: The part of requests, if there is one, and all texts (s).
        in_any_part: The hashes that each text has in any part, since what has changed its part is not new (s, parts);
            by default its own.
    """
    fitting, texts = (_digest(part) for part in (repr(asdict(settings)).encode(), keys.tobytes()))
    same_settings = former is not None and former.stamp.startswith(f"{fitting} ")
    same_texts = former is not None and former.stamp.endswith(f" {texts}")
    if former is not None and same_settings and same_texts and _same(former.neighbours, neighbours.rows):
        return former
    former = former or no_memory()
    rows = _former_rows(keys, former)
    known = np.append(former.fine, -1)[rows].astype(np.int64)  # the former fine group of each text, -1 for none
    as_before = _share_as_before(rows, keys, neighbours.rows, former)
    is_new = np.asarray(~np.isin(keys[:, None] if in_any_part is None else in_any_part, former.keys).any(1))
    joined, fine = former.joined + int(is_new.sum()), None
    if same_settings and is_new.any() and joined < _GROWN * len(keys) and as_before > _AS_BEFORE:
        fine = _joined(is_new, rows >= 0, known, neighbours, part, settings, stock)
    if fine is not None:
        coarse_of = dict(zip(np.unique(fine).tolist(), former.parents_of(np.unique(fine)).tolist()))
        coarse_of.pop(-1, None)
        next_id = former.next_id
    else:
        joined, fitted = 0, fit_parts(vectors, neighbours, part, settings, stock, requests)
        fine, next_id = _fine_ids(fitted.fine, known, vectors, former)
        coarse_of, next_id = _coarse_ids(fitted, fine, vectors, former, known, next_id)
    groups = {
        id: replace(
            former.groups.get(id, KnownGroup()), parent=coarse_of.get(id), new=same_settings and id not in former.groups
        )
        for id in sorted({*coarse_of, *coarse_of.values()})
    }
    stamp = f"{fitting} {joined} {texts}"
    places = _former_places(rows, as_before, former)
    memory = GroupMemory(stamp, keys, fine, neighbours.rows, places, {}, groups, next_id)
    return replace(memory, centroids={**centroids_of(vectors, fine), **centroids_of(vectors, memory.coarse)})


def _same(rows: IntArray, others: IntArray) -> bool:
    """Whether neighbours are the same, apart from the few that rounding exchanges on another machine."""
    return rows.shape == others.shape and float((rows == others).mean()) > 0.99


def _former_rows(keys: np.ndarray, former: GroupMemory) -> IntArray:
    """The row of each text in the former sample (s,); -1 if it was not in it."""
    if not len(former.keys):
        return np.full(len(keys), -1)
    rows = np.minimum(np.searchsorted(former.keys, keys), len(former.keys) - 1)
    return np.where(former.keys[rows] == keys, rows, -1)


def _joined(
    is_new: BoolArray,
    was_there: BoolArray,
    known: IntArray,
    neighbours: Neighbours,
    part: IntArray,
    settings: GroupSettings,
    stock: IntArray | None,
) -> IntArray | None:
    """The fine group of each text after others have joined those that were there in the same part (s,).

    ``None`` if enough for a group of its own is more like each other than like what there was.
    """
    fine = known.copy()
    for value in np.unique(part[part >= 0]):
        own = np.flatnonzero(part == value)
        near = neighbours.of(own).first(settings.neighbours_among(len(own)))
        unlike = is_new[own] & (is_new[near.rows].mean(1) > 1 / 2)
        if unlike.sum() >= max(near.rows.shape[1] / 2, settings.least_share * len(own)):
            return None
        fine[own] = np.where(was_there[own], known[own], vote(near, known, lonely_below(near.cosines[:, 0])))
    for value in np.unique(stock[~was_there & (stock >= 0)]) if stock is not None else ():
        groups = known[(stock == value) & (known >= 0)]
        if not len(groups):
            return None
        fine[~was_there & (stock == value)] = np.bincount(groups).argmax()
    return fine


def _former_places(rows: IntArray, as_before: float, former: GroupMemory) -> FloatArray:
    """The former place of each text, NaN for new ones (s, 2); none if most have another nearest neighbour now."""
    if not len(former.places) or as_before * (rows >= 0).mean() <= 1 / 2:
        return no_memory().places
    return np.append(former.places, np.full((1, 2), np.nan, np.float32), axis=0)[rows]


def _share_as_before(rows: IntArray, keys: np.ndarray, neighbours: np.ndarray, former: GroupMemory) -> float:
    """The share of the texts of a former sample that have the nearest neighbour that they had then."""
    kept = np.flatnonzero(rows >= 0)
    as_before = former.keys[former.neighbours[rows[kept], 0]] == keys[neighbours[kept, 0]]
    return float(as_before.mean()) if len(kept) else 0.0


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _fine_ids(labels: IntArray, known: IntArray, vectors: FloatArray, former: GroupMemory) -> tuple[IntArray, int]:
    """The id of the fine group of each vector (s,), and the next free id."""
    pinned = frozenset(id for id, group in former.groups.items() if group.pinned and group.parent is not None)
    free, held = pinned_labels(labels, known, pinned)
    coarse = {group.parent for group in former.groups.values()}
    others = former.groups.keys() - coarse - pinned
    candidates = {id: centroid for id, centroid in former.centroids.items() if id in others}
    ids, next_id = _ids(free, np.where(np.isin(known, list(pinned)), -1, known), vectors, candidates, former.next_id)
    return np.where(held >= 0, held, ids), next_id


def _coarse_ids(
    fitted: Fitted, fine: IntArray, vectors: FloatArray, former: GroupMemory, known: IntArray, next_id: int
) -> tuple[dict[int, int], int]:
    """The coarse group of each fine group, by id, and the next free id."""
    inside = fitted.fine >= 0
    labels = np.full(len(fine), -1, np.int64)
    labels[inside] = fitted.coarse[fitted.fine[inside]]
    former_coarse = {group.parent for group in former.groups.values() if group.parent is not None}
    candidates = {id: former.centroids[id] for id in former_coarse if id in former.centroids}
    ids, next_id = _ids(labels, former.parents_of(known), vectors, candidates, next_id)
    parents: dict[int, int] = {}
    for id in np.unique(fine[fine >= 0]).tolist():
        before = former.groups.get(id)
        if before is not None and before.parent is not None and _is_kept(before, former):
            parents[id] = before.parent
            continue
        values, counts = np.unique(ids[(fine == id) & (ids >= 0)], return_counts=True)
        if len(values):
            parents[id] = int(values[counts.argmax()])
        else:  # all its members are pinned, and their texts are in no new group
            parents[id] = before.parent if before is not None and before.parent is not None else next_id
            next_id = max(next_id, parents[id] + 1)
    return parents, next_id


def _is_kept(fine: KnownGroup, former: GroupMemory) -> bool:
    """Whether a user decided where a fine group belongs."""
    parent = former.groups.get(fine.parent) if fine.parent is not None else None
    return fine.pinned or (parent is not None and parent.pinned)


def _ids(
    labels: IntArray, known: IntArray, vectors: FloatArray, former: dict[int, FloatArray], next_id: int
) -> tuple[IntArray, int]:
    """Replace labels by ids: those of matching former groups, or else new ones."""
    values = np.unique(labels[labels >= 0])
    places = np.searchsorted(values, labels)
    compact = np.where(labels >= 0, places, -1)
    centroids = np.stack([vectors[labels == value].mean(0) for value in values]) if len(values) else vectors[:0]
    matched = match_groups(compact, np.where(np.isin(known, list(former)), known, -1), centroids, former)
    ids = []
    for row in range(len(values)):
        if row in matched:
            ids.append(matched[row])
        else:
            ids.append(next_id)
            next_id += 1
    table = np.asarray([*ids, -1], np.int64)
    return table[compact], next_id
