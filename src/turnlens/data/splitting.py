"""Splitting conversations into training, development and test sets."""

from __future__ import annotations

from hashlib import blake2b

import datasets

from turnlens.data.conversation_source import ConversationSource
from turnlens.data.conversations import read_conversations


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
    digest = blake2b(identifier.encode(), digest_size=8).digest()
    position = int.from_bytes(digest, "big") / 2**64  # in [0, 1)
    used = [name for name, fraction in fractions.items() if fraction > 0]
    end = 0.0
    for name in used[:-1]:
        end += fractions[name]
        if position < end:
            return name
    return used[-1]
