"""Texts that a role says again and again."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("graspologic_native", reason="needs the extra explorer")

from turnlens.groups.canned_replies import canned_among, split_from_canned
from turnlens.groups.neighbours import nearest

from .clouds import clouds


def test_texts_are_canned_where_they_are_most_messages() -> None:
    free = [f"where is parcel {number}" for number in range(5)]
    canned = canned_among([*["yes"] * 6, *["no"] * 5, *["maybe"] * 4, *free], least_share=0.01)
    assert (canned[11:] < 0).all()
    assert len(set(canned[:6].tolist())) == len(set(canned[6:11].tolist())) == 1 and -1 < canned[0] != canned[6] > -1
    assert (canned_among([*["yes"] * 6, *free, "a", "b"], least_share=0.01) < 0).all()


def test_rare_requests_are_split_from_buttons() -> None:
    vectors, _, cloud = clouds(3, 20)
    pressed = np.concatenate([np.arange(40), np.repeat(np.arange(40, 45), 20)])  # of the last cloud, five texts
    vectors, cloud = vectors[pressed], cloud[pressed]
    sample = np.concatenate([np.arange(40), np.arange(40, 140, 20)])
    near = nearest(vectors, vectors[sample], 3)
    groups = np.where(cloud == 2, 1, cloud)  # the buttons are in the group of the second cloud
    found = split_from_canned(groups, np.where(cloud == 2, pressed, -1), sample, near)
    assert len(set(found[cloud == 1].tolist())) == 1 and found[cloud == 1][0] not in found[cloud != 1]
    assert (found[cloud == 0] == groups[cloud == 0]).all() and (found[cloud == 2] == groups[cloud == 2]).all()
    assert (split_from_canned(groups, np.full(len(groups), -1), sample, near) == groups).all()
