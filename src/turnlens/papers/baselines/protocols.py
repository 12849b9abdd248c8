"""The protocols of baselines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np

from turnlens.data.messages import Messages


class UtteranceBaseline(Protocol):
    """Embeds utterances. ``fit`` takes conversations; where nothing is to be learned it does nothing."""

    def fit(self, conversations: Any) -> Self:
        """Learn from conversations, if there is anything to learn."""
        ...

    def encode_messages(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts, float32 (texts, dim)."""
        ...


class DialogueBaseline(Protocol):
    """Embeds whole dialogues."""

    def fit(self, conversations: Any) -> Self:
        """Learn from conversations, if there is anything to learn."""
        ...

    def encode_conversations(self, conversations: Sequence[Messages]) -> np.ndarray:
        """Embed dialogues, float32 (dialogues, dim)."""
        ...
