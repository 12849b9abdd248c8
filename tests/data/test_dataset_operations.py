from pathlib import Path

import datasets
import pytest

from chat_cases import chat, write_jsonl
from turnlens.data.conversations import read_conversations
from turnlens.data.dataset_operations import (
    drop_empty_messages,
    keep_long_enough,
    merge_consecutive_messages,
    split_conversations,
)


def test_merging_joins_neighbours_of_one_role() -> None:
    messages = [
        {"role": "a", "content": "one", "intent": "x"},
        {"role": "a", "content": "two", "intent": "y"},
        {"role": "b", "content": "three", "intent": None},
        {"role": "a", "content": "four", "intent": None},
    ]
    conversations = datasets.Dataset.from_list([{"id": "c", "messages": messages, "topic": "t"}])
    merged = merge_consecutive_messages(conversations, separator=" / ")
    assert merged[0] == {
        "id": "c",
        "messages": [{**messages[0], "content": "one / two"}, messages[2], messages[3]],
        "topic": "t",
    }


def test_merging_leaves_a_story_of_one_role_as_it_is() -> None:
    story = {"id": "s", "messages": [{"role": "narrator", "content": text} for text in ("Once .", "Then .", "End .")]}
    talk = {"id": "t", "messages": [*story["messages"], {"role": "reader", "content": "Why ?"}]}
    merged = merge_consecutive_messages(datasets.Dataset.from_list([story, talk]))
    assert merged[0] == story
    assert [message["content"] for message in merged[1]["messages"]] == ["Once . Then . End .", "Why ?"]


def test_dropping_empty_messages_and_short_conversations() -> None:
    rows = [chat("  hello ", " \n", "bye", id="a"), chat(" ", "", id="b"), chat("one", id="c")]
    kept = drop_empty_messages(datasets.Dataset.from_list(rows))
    assert [[message["content"] for message in row["messages"]] for row in kept] == [["hello", "bye"], ["one"]]
    assert list(keep_long_enough(kept)["id"]) == ["a"]
    assert list(keep_long_enough(kept, min_turns=1)["id"]) == ["a", "c"]
    with pytest.raises(ValueError, match="min_turns"):
        keep_long_enough(kept, min_turns=0)


def test_cleaning_works_in_a_chain_after_reading(tmp_path: Path) -> None:
    rows = [chat("a", " ", "b", "c", id="joined"), chat("a", "b", id="kept"), chat("a", " ", id="short")]
    conversations = read_conversations(write_jsonl(tmp_path / "chat.jsonl", rows))
    cleaned = keep_long_enough(merge_consecutive_messages(drop_empty_messages(conversations)))
    contents = {row["id"]: [message["content"] for message in row["messages"]] for row in cleaned}
    assert contents == {"joined": ["a b", "c"], "kept": ["a", "b"]}


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
