"""The corpus of baselines: the texts of conversations."""

from __future__ import annotations

from typing import TypeVar

from turnlens.data.messages import Conversations, distinct_texts, document

Learned = TypeVar("Learned")


def utterances(conversations: Conversations) -> list[str]:
    """The distinct utterances of conversations.

    Raises:
        ValueError: There are none.
        ConversationError: A row is malformed.
    """
    texts = distinct_texts(conversations)
    if not texts:
        raise ValueError("no conversations with text to fit a baseline to")
    return texts


def documents(conversations: Conversations) -> list[str]:
    """Each conversation as one text; see ``utterances`` for the errors."""
    texts = [document(row["messages"], f"row {number}") for number, row in enumerate(conversations)]
    if not any(texts):
        raise ValueError("no conversations with text to fit a baseline to")
    return texts


def fitted(learned: Learned | None, owner: object) -> Learned:
    """The result of ``fit``.

    Raises:
        ValueError: ``fit`` was not called.
    """
    if learned is None:
        raise ValueError(f"{type(owner).__name__} has learned nothing yet: call fit(conversations) first")
    return learned
