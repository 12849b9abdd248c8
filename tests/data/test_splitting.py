"""Splits by a hash of the id."""

from __future__ import annotations

import datasets
import pytest

from chat_cases import chat
from turnlens.data.dataset_operations import split_conversations


def test_splits_depend_on_the_id_only() -> None:
    rows = [chat("hello", "hi", id=f"conversation-{i}") for i in range(2000)]
    whole = split_conversations(datasets.Dataset.from_list(rows))
    part = split_conversations(datasets.Dataset.from_list(rows[::-3]))
    ids = {name: set(split["id"]) for name, split in whole.items()}
    assert sum(map(len, ids.values())) == len(set.union(*ids.values())) == 2000
    assert 0.77 < len(ids["train"]) / 2000 < 0.83
    assert 0.08 < len(ids["dev"]) / 2000 < 0.12
    for name, split in part.items():
        assert set(split["id"]) <= ids[name]
    # pinned: must never change, or published splits would
    pinned = split_conversations(datasets.Dataset.from_list(rows[:6]))
    assert {name: [identifier[-1] for identifier in split["id"]] for name, split in pinned.items()} == {
        "train": ["1", "2", "3"],
        "dev": ["0", "4", "5"],
        "test": [],
    }


def test_split_fractions_are_checked_and_may_be_zero() -> None:
    conversations = datasets.Dataset.from_list([chat("hello", id=str(i)) for i in range(50)])
    splits = split_conversations(conversations, train=0.9, dev=0.1, test=0.0)
    assert len(splits["test"]) == 0
    assert len(splits["train"]) + len(splits["dev"]) == 50
    for train, dev, test in ((0.8, 0.1, 0.2), (1.2, -0.1, -0.1)):
        with pytest.raises(ValueError, match="add up to 1"):
            split_conversations(conversations, train=train, dev=dev, test=test)
