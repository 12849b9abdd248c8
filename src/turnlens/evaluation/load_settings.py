"""How the data of a task is chosen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LoadSettings:
    """How a task is made from the data.

    Args:
        label: Message field with the intent, for tasks on messages built from conversations.
        max_queries: Use at most this many random queries; None for all.
        seed: Seed of the sample.
        conversation_label: Column with the label of a whole conversation; None to let ``labelled_conversations`` find
            it.
    """

    label: str = "intent"
    max_queries: int | None = None
    seed: int = 0
    conversation_label: str | None = None
