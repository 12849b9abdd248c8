"""The recipe of DialogueCSE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from datasets import Dataset
from typing_extensions import override

from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.papers.citations import DIALOGUE_CSE
from turnlens.papers.dialogue_cse.loss import DialogueCSELoss, DialogueCSESettings
from turnlens.papers.in_batch import InBatch
from turnlens.training.collators import TextCollator
from turnlens.training.recipes.base import Inputs


@dataclass(frozen=True)
class DialogueCSE(InBatch, DialogueCSESettings):
    """See `turnlens.papers.DialogueCSESettings` for the other settings."""

    citation: ClassVar[str] = DIALOGUE_CSE

    @override
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        return {
            "train_dataset": conversations,
            "data_collator": TextCollator(encoder, self.max_length),
            "loss": DialogueCSELoss(encoder, DialogueCSESettings.of(self)),
        }
