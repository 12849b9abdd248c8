"""What a training will do, planned before anything is written, so that what is wrong is told at once."""

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
        conversations: What it learns from, as the record tells it; to continue a run, it must be the same.
        kept: Further entries of the record: how many conversations were kept, and why others were left out.
        learn: Trains. Given the run that keeps what is finished, if any; gives back the encoder and the last entries of
            the record, such as losses.
    """

    conversations: str
    kept: dict[str, Any]
    learn: Callable[[RunFolder | None], tuple[ConversationEncoder, dict[str, Any]]]
