"""Recipes of the baselines that learn from turns and what precedes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from datasets import Dataset
from typing_extensions import override

from turnlens._utils.arguments import check_positive
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.papers.baselines.siamese import SiameseLoss, SiameseSettings
from turnlens.papers.baselines.single_vector import SingleVectorLoss, SingleVectorSettings
from turnlens.papers.citations import CONVERT
from turnlens.papers.in_batch import InBatch
from turnlens.papers.joined_contexts import JoinedContextCollator
from turnlens.training.collators import TextCollator
from turnlens.training.recipes.base import Inputs


@dataclass(frozen=True)
class Siamese(InBatch, SiameseSettings):
    """See `turnlens.papers.SiameseSettings` for the other settings.

    Attributes:
        context_turns: For ``context="multi"``, how many turns are joined into one text, at most.
    """

    context_turns: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "context_turns")

    @override
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        collator = TextCollator(encoder, self.max_length)
        if self.context == "multi":
            collator = JoinedContextCollator(encoder, self.max_length, self.context_turns)
        loss = SiameseLoss(encoder, SiameseSettings.of(self))
        return {"train_dataset": conversations, "data_collator": collator, "loss": loss}


@dataclass(frozen=True)
class SingleVector(InBatch, SingleVectorSettings):
    """See `turnlens.papers.SingleVectorSettings` for the other settings.

    Attributes:
        context_turns: How many turns are joined into one text, at most.
    """

    citation: ClassVar[str] = CONVERT

    context_turns: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "context_turns")

    @override
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        collator = JoinedContextCollator(encoder, self.max_length, self.context_turns)
        loss = SingleVectorLoss(encoder, SingleVectorSettings.of(self))
        return {"train_dataset": conversations, "data_collator": collator, "loss": loss}
