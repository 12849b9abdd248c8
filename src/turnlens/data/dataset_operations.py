"""Steps on data sets of conversations: cleaning, splitting, drawing samples, and identity."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Any

import datasets
import numpy as np
from datasets import Dataset

from turnlens.data.conversation_source import ConversationSource
from turnlens.data.conversations import read_conversations


def merge_consecutive_messages(data: ConversationSource, *, separator: str = " ") -> datasets.Dataset:
    """Join neighbouring messages of one role into one, which keeps the labels of the first.

    A conversation with a single role, such as a story in sentences, has no turns to restore and stays as it is.
    All functions of this module take conversations in any form that `turnlens.read_conversations` reads or gives.

    Examples:
        >>> import turnlens
        >>> texts = [("user", "Hi"), ("user", "there"), ("agent", "Hello!")]
        >>> talk = [{"role": role, "content": text} for role, text in texts]
        >>> merged = turnlens.data.merge_consecutive_messages([talk])
        >>> [message["content"] for message in merged[0]["messages"]]
        ['Hi there', 'Hello!']
    """
    return _map_messages(read_conversations(data), merge_runs, separator=separator)


def merge_runs(messages: list[dict[str, Any]], separator: str = " ") -> list[dict[str, Any]]:
    """Return the messages of one conversation, merged as `merge_consecutive_messages` does."""
    if len({message["role"] for message in messages}) < 2:
        return messages
    turns = [list(turn) for _, turn in groupby(messages, itemgetter("role"))]
    return [{**turn[0], "content": separator.join(message["content"] for message in turn)} for turn in turns]


def drop_empty_messages(data: ConversationSource) -> datasets.Dataset:
    """Strip whitespace around contents, and drop messages, and then conversations, that are left empty.

    Examples:
        >>> import turnlens
        >>> talks = [[{"role": "user", "content": text}] for text in (" Hi ", " ")]
        >>> turnlens.data.drop_empty_messages(talks)["messages"][:]
        [[{'role': 'user', 'content': 'Hi'}]]
    """
    return keep_long_enough(_map_messages(read_conversations(data), _stripped), min_turns=1)


def _stripped(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    stripped = ({**message, "content": message["content"].strip()} for message in messages)
    return [message for message in stripped if message["content"]]


def keep_long_enough(data: ConversationSource, *, min_turns: int = 2) -> datasets.Dataset:
    """Keep the conversations that have at least ``min_turns`` messages.

    Examples:
        >>> import turnlens
        >>> talk = [{"role": "user", "content": "Hi"}, {"role": "agent", "content": "Hello!"}]
        >>> turnlens.data.keep_long_enough([talk, talk[:1]])["id"][:]
        ['row-1']
    """
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


def split_conversations(
    data: ConversationSource, *, train: float = 0.8, dev: float = 0.1, test: float = 0.1
) -> dict[str, datasets.Dataset]:
    """Split by a hash of the id, so a conversation's split depends on nothing but its id and the fractions.

    Args:
        data: What `turnlens.read_conversations` reads or gives.
        train: Fraction of conversations for training.
        dev: Fraction for development.
        test: Fraction for testing; the three add up to 1.

    Returns:
        ``{"train": …, "dev": …, "test": …}``.

    Raises:
        ValueError: A fraction is negative, or they do not add up to 1.

    Examples:
        >>> import turnlens
        >>> parts = turnlens.data.split_conversations(turnlens.sample_conversations(100), dev=0.0, test=0.2)
        >>> {name: len(conversations) for name, conversations in parts.items()}
        {'train': 79, 'dev': 0, 'test': 21}
    """
    fractions = {"train": train, "dev": dev, "test": test}
    if min(fractions.values()) < 0 or abs(sum(fractions.values()) - 1) > 1e-6:
        raise ValueError(f"train, dev and test are {train}, {dev} and {test}; expected fractions that add up to 1")
    conversations = read_conversations(data)
    rows: dict[str, list[int]] = {name: [] for name in fractions}
    for index, identifier in enumerate(conversations["id"]):
        rows[_split_of(identifier, fractions)].append(index)
    return {name: conversations.select(indices) for name, indices in rows.items()}


def _split_of(identifier: str, fractions: dict[str, float]) -> str:
    digest = hashlib.blake2b(identifier.encode(), digest_size=8).digest()
    position = int.from_bytes(digest, "big") / 2**64  # in [0, 1)
    used = [name for name, fraction in fractions.items() if fraction > 0]
    ends = accumulate(map(fractions.__getitem__, used[:-1]))
    return next((name for name, end in zip(used, ends) if position < end), used[-1])


def draw_conversations(conversations: Dataset, count: int | None, seed: int) -> Dataset:
    """Draw conversations at random and keep their order. If there are no more than ``count``, all are returned.

    Args:
        conversations: The conversations.
        count: How many to draw; None means all.
        seed: Seed of the draw.
    """
    if count is None or count >= len(conversations):
        return conversations
    return conversations.select(np.sort(np.random.default_rng(seed).permutation(len(conversations))[:count]))


def fingerprint(conversations: Dataset) -> str:
    """Return a hash of ids, roles and texts, so that a run is never continued with other data."""
    digest = hashlib.blake2b(digest_size=8)
    for rows in conversations.iter(1000):
        for name, messages in zip(rows["id"], rows["messages"]):
            parts = [name, *(part for message in messages for part in (message["role"], message["content"]))]
            digest.update(json.dumps(parts).encode())
    return f"{len(conversations)} conversations, {digest.hexdigest()}"
