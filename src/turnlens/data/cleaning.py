"""Cleaning conversations: joining, stripping and leaving out messages, and leaving out conversations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import datasets

from turnlens.data.conversation_source import ConversationSource
from turnlens.data.conversations import read_conversations


def merge_consecutive_messages(data: ConversationSource, *, separator: str = " ") -> datasets.Dataset:
    """Join neighbouring messages of one role into one, which keeps the labels of the first.

    A conversation with a single role, such as a story in sentences, has no turns to restore and stays as it is.
    All functions of this module take conversations in any form that `turnlens.read_conversations` reads or gives.
    """
    return _map_messages(read_conversations(data), merge_runs, separator=separator)


def merge_runs(messages: list[dict[str, Any]], separator: str = " ") -> list[dict[str, Any]]:
    """The messages of one conversation, merged as `merge_consecutive_messages` does."""
    if len({message["role"] for message in messages}) < 2:
        return messages
    turns: list[list[dict[str, Any]]] = []
    for message in messages:
        if turns and turns[-1][0]["role"] == message["role"]:
            turns[-1].append(message)
        else:
            turns.append([message])
    return [{**turn[0], "content": separator.join(message["content"] for message in turn)} for turn in turns]


def drop_empty_messages(data: ConversationSource) -> datasets.Dataset:
    """Strip whitespace around contents, and drop messages, and then conversations, that are left empty."""
    return keep_long_enough(_map_messages(read_conversations(data), _stripped), min_turns=1)


def _stripped(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    stripped = ({**message, "content": message["content"].strip()} for message in messages)
    return [message for message in stripped if message["content"]]


def keep_long_enough(data: ConversationSource, *, min_turns: int = 2) -> datasets.Dataset:
    """Keep the conversations that have at least ``min_turns`` messages."""
    if min_turns < 1:
        raise ValueError(f"min_turns is {min_turns}; expected at least 1")
    return read_conversations(data).filter(
        _is_long_enough, input_columns="messages", batched=True, fn_kwargs={"min_turns": min_turns}
    )


def _is_long_enough(batch: list[list[dict[str, Any]]], min_turns: int) -> list[bool]:
    return [len(messages) >= min_turns for messages in batch]


def _map_messages(
    conversations: datasets.Dataset, change: Callable[..., list[dict[str, Any]]], **arguments: Any
) -> datasets.Dataset:
    return conversations.map(
        _changed_batch,
        input_columns="messages",
        batched=True,
        features=conversations.features,
        fn_kwargs={"change": change, **arguments},
    )


def _changed_batch(batch: list[list[dict[str, Any]]], change: Callable[..., Any], **arguments: Any) -> dict[str, Any]:
    return {"messages": [change(messages, **arguments) for messages in batch]}
