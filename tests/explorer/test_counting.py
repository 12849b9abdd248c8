"""Flows, intervals, timelines and differences, against hand counts."""

from __future__ import annotations

import numpy as np
import pytest

from turnwise.explorer.differences import differences
from turnwise.explorer.flows import END, NONE, START, Flows, count_flows
from turnwise.explorer.intervals import difference, wilson
from turnwise.explorer.timeline import timeline

GROUPS = np.asarray([1, 2, 2, 1, 2, -1, 3, 1, 2, 3])
FIRST = np.asarray([0, 3, 7])  # 1 2 2 | 1 2 - 3 | 1 2 3


def test_every_step_of_every_conversation_is_counted_once() -> None:
    flows = count_flows(GROUPS, FIRST)
    assert flows.transitions == {
        (START, 1): 3,
        (1, 2): 3,
        (2, 2): 1,
        (2, END): 1,
        (2, NONE): 1,
        (NONE, 3): 1,
        (2, 3): 1,
        (3, END): 2,
    }
    assert flows.paths == {(1, 2): 1, (1, 2, 3): 2}


def test_flows_of_parts_add_up() -> None:
    parts = count_flows(GROUPS[:3], FIRST[:1]) + count_flows(GROUPS[3:], FIRST[1:] - 3)
    assert parts == count_flows(GROUPS, FIRST)
    assert Flows() + parts == parts == parts + count_flows(GROUPS[:0], FIRST[:0])


def test_shares_are_of_all_that_followed_with_their_intervals() -> None:
    after_two = {one.target: one for one in count_flows(GROUPS, FIRST).shares() if one.source == 2}
    assert {target: one.share for target, one in after_two.items()} == {2: 0.25, END: 0.25, NONE: 0.25, 3: 0.25}
    low, high = wilson(1, 4)
    assert (after_two[3].low, after_two[3].high) == (low, high)
    assert [one.source for one in count_flows(GROUPS, FIRST).shares(least=0.9)] == [START, 1, 3, NONE]


def test_typical_paths_are_the_commonest() -> None:
    best = count_flows(GROUPS, FIRST).typical_paths(1)
    assert [(path.groups, path.count) for path in best] == [((1, 2, 3), 2)]
    assert best[0].share == pytest.approx(2 / 3) and best[0].low < 2 / 3 < best[0].high
    assert Flows().typical_paths() == []


def test_wilson_covers_the_share_as_often_as_it_says() -> None:
    random = np.random.default_rng(0)
    for share in (0.02, 0.3):
        low, high = wilson(random.binomial(60, share, 20_000), 60)
        assert np.mean((low <= share) & (share <= high)) == pytest.approx(0.95, abs=0.025)
    assert wilson(0, 0) == (0, 1)


def test_the_interval_of_a_difference_is_the_published_one() -> None:
    # Newcombe 1998, table II, method 10
    assert difference(9, 10, 3, 10)[1:] == pytest.approx((0.1705, 0.8090), abs=1e-4)
    assert difference(10, 10, 0, 10)[1:] == pytest.approx((0.6075, 1.0), abs=1e-4)


def test_a_timeline_counts_members_and_all_and_tells_growth() -> None:
    time = np.asarray([0.0, 1, 2, 3, 4, 5, 6, 7, np.nan])
    member = np.asarray([0, 0, 0, 1, 1, 1, 1, 1, 1])
    found = timeline(member, time, spans=4)
    assert found is not None
    assert found.totals.tolist() == [2, 2, 2, 2] and found.counts.tolist() == [0, 1, 2, 2]
    assert found.change == pytest.approx(0.75) and 0 < found.change_low < 0.75 < found.change_high <= 1
    assert timeline(member, np.full(9, np.nan)) is None and timeline(member, np.zeros(9)) is None


def test_differences_count_conversations_once_and_put_what_is_sure_first() -> None:
    conversation = np.repeat(np.arange(40), 3)
    labelled = np.arange(40) < 20
    groups = np.tile([7, 7, -1], 40)
    groups[np.repeat(labelled, 3) & (np.arange(120) % 3 == 2)] = 9
    found = differences(groups, conversation, labelled)
    assert [one.group for one in found] == [9, 7]
    assert (found[0].share, found[0].other_share, found[0].difference) == (1, 0, 1) and found[0].low > 0.7
    assert found[1].difference == 0 and found[1].low < 0 < found[1].high
    assert differences(groups, conversation, labelled, usable=np.zeros(40, bool)) == []
