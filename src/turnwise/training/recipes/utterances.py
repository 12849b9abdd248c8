"""Recipes of methods that embed utterances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from datasets import Dataset
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn
from typing_extensions import override

from turnwise._utils.settings import check_positive
from turnwise.collators.utterances import UtteranceCollator
from turnwise.losses.dialogue_cse import DialogueCSELoss, DialogueCSESettings
from turnwise.losses.siamese import SiameseLoss, SiameseSettings
from turnwise.losses.single_vector import SingleVectorLoss, SingleVectorSettings
from turnwise.training.recipes.base import Recipe


@dataclass(frozen=True)
class InBatch(Recipe):
    """What is common to methods that contrast responses with those of other conversations in the batch."""

    # Six times the paper's, the same for all: better on the default encoder, see docs/results.md.
    learning_rate: float = 3e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch_size < 2:
            raise ValueError("batch_size must be at least 2: the negatives of a response are other conversations'")

    @override
    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        return UtteranceCollator(encoder, max_length=self.max_length)


@dataclass(frozen=True)
class DialogueCSE(InBatch, DialogueCSESettings):
    """See `turnwise.losses.DialogueCSESettings` for the other settings."""

    @override
    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        return DialogueCSELoss(encoder, DialogueCSESettings.of(self))


@dataclass(frozen=True)
class Siamese(InBatch, SiameseSettings):
    """See `turnwise.losses.SiameseSettings` for the other settings.

    Attributes:
        context_turns: For ``context="multi"``, how many turns are joined into one text, at most.
    """

    context_turns: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "context_turns")

    @override
    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        joined = self.context_turns if self.context == "multi" else 0
        return UtteranceCollator(encoder, max_length=self.max_length, joined_context_turns=joined)

    @override
    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        return SiameseLoss(encoder, SiameseSettings.of(self))


@dataclass(frozen=True)
class SingleVector(InBatch, SingleVectorSettings):
    """See `turnwise.losses.SingleVectorSettings` for the other settings.

    Attributes:
        context_turns: How many turns are joined into one text, at most.
    """

    context_turns: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "context_turns")

    @override
    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        return UtteranceCollator(encoder, max_length=self.max_length, joined_context_turns=self.context_turns)

    @override
    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        return SingleVectorLoss(encoder, SingleVectorSettings.of(self))
