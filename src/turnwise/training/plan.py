"""What a training will do, planned before anything is written, so that problems are reported at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from turnwise._utils.runs import RunFolder
from turnwise.encoders.conversation_encoder import ConversationEncoder


@dataclass(frozen=True)
class Plan:
    """A training whose recipe, encoder and conversations have been checked.

    Attributes:
        conversations: What the training learns from, as its record says; a run is continued only if this is the same.
        kept: Further entries of the record: how many conversations were kept, and why others were left out.
        learn: Trains, and returns the encoder and the last entries of the record, such as losses. It takes the run that
            keeps finished stages, or ``None``.
    """

    conversations: str
    kept: dict[str, Any]
    learn: Callable[[RunFolder | None], tuple[ConversationEncoder, dict[str, Any]]]
