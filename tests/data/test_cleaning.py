"""Merging and dropping messages, and keeping long conversations."""

from __future__ import annotations

from pathlib import Path

import datasets
import pytest

from chat_cases import chat, write_jsonl
from turnlens.data.conversations import read_conversations
from turnlens.data.dataset_operations import drop_empty_messages, keep_long_enough, merge_consecutive_messages


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
