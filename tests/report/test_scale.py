"""Coarser than the groups are: the order of joining them; and those that are mixed."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.groups.clouds import clouds
from turnlens._utils.vectors import unit_vectors
from turnlens.groups.group_settings import GroupSettings
from turnlens.groups.pipeline import Grouping, group_vectors
from turnlens.report.report import Group
from turnlens.report.report_groups import with_scale


def _of(groups: Grouping, **changes: Any) -> list[Group]:
    ids, sizes = np.unique(groups.groups[groups.groups >= 0], return_counts=True)
    row: Any = {"phrases": (), "parent": 0, "level": 1, "share": 0.1, "central": (), "edge": (), "new": False}
    row |= {"renamed": False, **changes}
    return [Group(id=int(id), name=str(id), size=int(size), **row) for id, size in zip(ids, sizes)]


def test_the_most_alike_are_joined_first() -> None:
    vectors, texts, cloud = clouds(3, 60)
    vectors[cloud == 2] = unit_vectors(vectors[cloud == 2] + 0.8 * vectors[cloud == 1][:60])  # these two are alike
    found = group_vectors(vectors, texts, GroupSettings(granularity=3))
    corpus: Any = SimpleNamespace(vectors=vectors, texts=texts)
    groups = with_scale(_of(found), found, corpus)
    assert len(groups) == 3
    joined = {group.joined_at: group for group in groups}
    assert joined[0].joins is None  # all others are joined with it in the end
    inside = {group.id: set(cloud[found.groups == group.id].tolist()) for group in groups}
    assert inside[joined[2].id] | inside[joined[2].joins or 0] == {1, 2}
    assert all(group.joins is None for group in with_scale(_of(found)[:1], found, corpus))


def test_groups_whose_texts_are_nearer_to_others_are_mixed() -> None:
    vectors, texts, _ = clouds(3, 60)
    found = group_vectors(vectors, texts, GroupSettings(granularity=3))
    ids, few = np.unique(found.groups[found.groups >= 0]), np.arange(len(texts)) % 6 == 0
    scattered = replace(found, groups=np.where(few, 99, found.groups))  # a sixth of each
    corpus: Any = SimpleNamespace(vectors=vectors, texts=texts)
    groups = {group.id: group.mixed for group in with_scale(_of(scattered), scattered, corpus)}
    assert groups == {**dict.fromkeys(ids.tolist(), False), 99: True}
    assert not any(group.mixed for group in with_scale(_of(found), found, corpus))
    alone = replace(found, groups=np.where(np.arange(len(texts)) == 0, 99, found.groups))
    assert not any(group.mixed for group in with_scale(_of(alone), alone, corpus))  # such as a macro, which is one text
