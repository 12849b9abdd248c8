import numpy as np
import pyarrow as pa
import pytest

from turnlens.evaluation.clustering_metrics import label_agreement, labelled, labelled_conversations


def test_groups_stand_for_their_name_or_their_others() -> None:
    # The one of "a" that is a y, and the lone one of "b", are wrong; x is told by its name, whatever is in the group.
    groups, labels = ["a", "a", "a", "b", "x", "x", None], ["z", "z", "y", "z", "x", "y", "x"]
    figures = label_agreement(groups, labels, [0.9, 0.9, 0.9, 0.6, 0.9, 0.9, 0.1])
    assert figures["accuracy"] == pytest.approx(3 / 7)
    assert (figures["items"], figures["labels"]) == (7, 3)
    assert figures["calibration"] == [[pytest.approx(0.6), 0.0], [pytest.approx(0.9), pytest.approx(3 / 5)]]


def test_groups_by_chance_tell_nothing() -> None:
    labels = np.arange(400).astype(str)
    assert label_agreement(labels.tolist(), labels[::-1].tolist())["accuracy"] < 0.01  # not even all alone
    assert label_agreement([f"group {n}" for n in labels], labels.tolist())["accuracy"] == 0


def test_labels_of_conversations_count_once() -> None:
    roles, groups = ["bot", "user", "user", "user", "bot", "user"], [0, None, 1, None, 2, None]
    table = pa.table({"id": list("aaabcc"), "turn": [0, 1, 2, 0, 0, 1], "role": roles, "group": groups})
    assert labelled(["x", None, "", [], "y"]) == [0, 4]
    assert labelled_conversations(table, ["x"] * 6) == [0, 4]  # the bot opens most
    assert labelled_conversations(table, ["x"] * 6, {("a", 1), ("b", 0), ("c", 1)}) == [1, 3, 5]
    assert labelled_conversations(table, [None] * 6) == []
