"""Updates of the groups of a sample when data grow.

Groups are unchanged as long as the data are. New texts join them, as long as they are few and like the former ones; or
else groups are fitted anew, and matched to the former ones, whose ids they keep.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from turnlens._utils.progress import note
from turnlens._utils.vectors import BoolArray, FloatArray, IntArray
from turnlens.groups.fitting import Fitted, fit_parts
from turnlens.groups.group_model import GroupModel, StoredGroup, empty_model
from turnlens.groups.group_settings import MOST, GroupSettings, neighbours_among
from turnlens.groups.neighbours import Neighbours, centroids_of, outlier_cosine, vote

_GROWN = 0.2  # of a sample; groups that more has joined are found anew
_AS_BEFORE = 0.7  # of the texts have the nearest neighbour that they had, or the vectors are others


def update_model(
    keys: np.ndarray,
    vectors: FloatArray,
    neighbours: Neighbours,
    part: IntArray,
    settings: GroupSettings,
    former: GroupModel | None,
    canned: IntArray,
    requests: int | None,
    in_any_part: np.ndarray,
) -> GroupModel:
    """Group a sample, or update its former groups; groups that match former ones get their ids.

    Args:
        keys: The hash of each text of the sample, sorted (s,).
        vectors: The vectors of these texts, of length 1 (s, dim).
        neighbours: The neighbours of each vector, in the same part of the sample.
        part: The part of each vector, each of which has groups of its own; -1 for no group (s,).
        settings: The settings of the groups.
        former: The groups of an earlier sample.
        canned: The canned text of each, each of which is a group; -1 for none (s,).
        requests: The part of requests, if there is one.
        in_any_part: The hashes that each text has in any part, since what has changed its part is not new (s, parts).
    """
    fitting, texts = (_digest(part) for part in (repr(asdict(settings)).encode(), keys.tobytes()))
    same_settings = former is not None and former.stamp.startswith(f"{fitting} ")
    same_texts = former is not None and former.stamp.endswith(f" {texts}")
    if former is not None and same_settings and same_texts and _same(former.neighbours, neighbours.rows):
        return former
    former = former or empty_model()
    rows = _former_rows(keys, former)
    known = np.append(former.fine, -1)[rows].astype(np.int64)  # the former fine group of each text, -1 for none
    as_before = _share_as_before(rows, keys, neighbours.rows, former)
    is_new = np.asarray(~np.isin(in_any_part, former.keys).any(1))
    joined, fine = former.joined + int(is_new.sum()), None
    if same_settings and is_new.any() and joined < _GROWN * len(keys) and as_before > _AS_BEFORE:
        fine = _joined(is_new, rows >= 0, known, neighbours, part, canned)
    if fine is not None:
        coarse_of = dict(zip(np.unique(fine).tolist(), former.parents_of(np.unique(fine)).tolist()))
        coarse_of.pop(-1, None)
        next_id = former.next_id
    else:
        joined, fitted = 0, fit_parts(vectors, neighbours, part, settings, canned, requests)
        fine, next_id = _fine_ids(fitted.fine, known, vectors, former)
        coarse_of, next_id = _coarse_ids(fitted, fine, vectors, former, known, next_id)
    groups = {}
    for id in sorted({*coarse_of, *coarse_of.values()}):
        inside = np.isin(fine, [id, *(child for child, parent in coarse_of.items() if parent == id)])
        new = same_settings and id not in former.groups and bool(is_new[inside].mean() > MOST)  # else it was split off
        before = former.groups.get(id, StoredGroup())
        if not (same_settings or before.renamed or before.pinned):  # its name was chosen beside other groups
            before = replace(before, name="", phrases=())
        groups[id] = replace(before, parent=coarse_of.get(id), new=new)
    if lost := [group.name for id, group in former.groups.items() if group.renamed and id not in groups]:
        note(f"no group is like these any more, which were named by hand: {', '.join(lost)}")
    stamp = f"{fitting} {joined} {texts}"
    places = _former_places(rows, as_before, former)
    model = GroupModel(stamp, keys, fine, neighbours.rows, places, {}, groups, next_id, answers=former.answers)
    return replace(model, centroids={**centroids_of(vectors, fine), **centroids_of(vectors, model.coarse)})


def _same(rows: IntArray, others: IntArray) -> bool:
    """Return true if neighbours are the same, but for the few that rounding exchanges on another machine."""
    return rows.shape == others.shape and float((rows == others).mean()) > 0.99


def _former_rows(keys: np.ndarray, former: GroupModel) -> IntArray:
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
    canned: IntArray,
) -> IntArray | None:
    """Return the fine group of each text after new ones have joined the former ones in the same part (s,).

    ``None`` if enough new texts for a group of their own are more like each other than like the former ones.
    """
    fine = known.copy()
    for value in np.unique(part[part >= 0]):
        own = np.flatnonzero(part == value)
        near = neighbours.of(own).first(neighbours_among(len(own)))
        unlike = is_new[own] & (is_new[near.rows].mean(1) > 1 / 2)
        if unlike.sum() >= near.rows.shape[1] / 2:
            return None
        fine[own] = np.where(was_there[own], known[own], vote(near, known, outlier_cosine(near.cosines[:, 0])))
    for value in np.unique(canned[~was_there & (canned >= 0)]):
        groups = known[(canned == value) & (known >= 0)]
        if not len(groups):
            return None
        fine[~was_there & (canned == value)] = np.bincount(groups).argmax()
    return fine


def _former_places(rows: IntArray, as_before: float, former: GroupModel) -> FloatArray:
    """The former place of each text, NaN for new ones (s, 2); none if most have another nearest neighbour now."""
    if not len(former.places) or as_before * (rows >= 0).mean() <= 1 / 2:
        return empty_model().places
    return np.append(former.places, np.full((1, 2), np.nan, np.float32), axis=0)[rows]


def _share_as_before(rows: IntArray, keys: np.ndarray, neighbours: np.ndarray, former: GroupModel) -> float:
    """The share of the texts of a former sample that have the nearest neighbour that they had then."""
    kept = np.flatnonzero(rows >= 0)
    as_before = former.keys[former.neighbours[rows[kept], 0]] == keys[neighbours[kept, 0]]
    return float(as_before.mean()) if len(kept) else 0.0


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _fine_ids(labels: IntArray, known: IntArray, vectors: FloatArray, former: GroupModel) -> tuple[IntArray, int]:
    """The id of the fine group of each vector (s,), and the next free id."""
    pinned = frozenset(id for id, group in former.groups.items() if group.pinned and group.parent is not None)
    free, held = pinned_labels(labels, known, pinned)
    coarse = {group.parent for group in former.groups.values()}
    others = former.groups.keys() - coarse - pinned
    candidates = {id: centroid for id, centroid in former.centroids.items() if id in others}
    ids, next_id = _ids(free, np.where(np.isin(known, list(pinned)), -1, known), vectors, candidates, former.next_id)
    return np.where(held >= 0, held, ids), next_id


def _coarse_ids(
    fitted: Fitted, fine: IntArray, vectors: FloatArray, former: GroupModel, known: IntArray, next_id: int
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


def _is_kept(fine: StoredGroup, former: GroupModel) -> bool:
    """Return true if a user decided the coarse group of a fine one."""
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
    new = iter(range(next_id, next_id + len(values)))
    ids = [matched[row] if row in matched else next(new) for row in range(len(values))]
    return np.asarray([*ids, -1], np.int64)[compact], next(new, next_id + len(values))


LEAST_OVERLAP = 0.3  # F1 over the texts that are in both samples
LEAST_COSINE = 0.9  # between centroids, used if too few texts are in both samples


def match_groups(
    labels: IntArray, former: IntArray, centroids: FloatArray, former_centroids: Mapping[int, FloatArray]
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
