"""Recipes of methods that embed utterances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from datasets import Dataset
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn
from typing_extensions import override

from turnwise._utils.settings import check_positive
from turnwise.collators.mixing import UtterancePool
from turnwise.collators.pieces import PieceCollator, cut_samples
from turnwise.collators.response_negatives import ResponseNegatives
from turnwise.collators.utterances import UtteranceCollator
from turnwise.losses.dialogue_cse import DialogueCSELoss, DialogueCSESettings
from turnwise.losses.in_batch import InBatchSettings
from turnwise.losses.siamese import SiameseLoss, SiameseSettings
from turnwise.losses.single_vector import SingleVectorLoss, SingleVectorSettings
from turnwise.training.recipes.base import Recipe


@dataclass(frozen=True)
class InBatch(Recipe, InBatchSettings):
    """What is common to methods that contrast responses with those of other conversations in the batch."""

    # Six times the paper's, the same for all: better on the default encoder, see docs/results.md.
    learning_rate: float = 3e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch_size < 2:
            raise ValueError("batch_size must be at least 2: the negatives of a response are other conversations'")


@dataclass(frozen=True)
class DialogueCSE(InBatch, DialogueCSESettings):
    """See `turnwise.losses.DialogueCSESettings` for the other settings.

    Attributes:
        unit: What a batch counts: ``"conversation"``, each of whose turns is a response, or ``"sample"``, a single
            response with its context.
        negatives_from: Where negatives are drawn: ``"batch"``, or ``"corpus"``, which are encoded besides.
        same_role: Draw those of the corpus from the response's own role.
    """

    unit: Literal["conversation", "sample"] = "conversation"
    negatives_from: Literal["batch", "corpus"] = "batch"
    same_role: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.negatives_from == "corpus" and self.negatives == "batch":
            raise ValueError("negatives_from='corpus' needs a number of negatives, such as negatives=9, got 'batch'")
        if self.negatives_from == "batch" and (self.unit == "sample" or self.same_role):
            setting = "unit='sample'" if self.unit == "sample" else "same_role=true"
            raise ValueError(f"{setting} needs negatives_from='corpus', got 'batch'")

    @override
    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        negatives = None
        if self.negatives_from == "corpus" and isinstance(self.negatives, int):
            negatives = ResponseNegatives(UtterancePool(conversations), self.negatives, self.same_role, self.seed)
        collator = UtteranceCollator(encoder, self.max_length, negatives=negatives)
        return PieceCollator(collator, conversations) if self.unit == "sample" else collator

    @override
    def inputs(self, encoder: SentenceTransformer, conversations: Dataset) -> dict[str, Any]:
        inputs = super().inputs(encoder, conversations)
        if self.unit == "sample":
            inputs["train_dataset"] = cut_samples(conversations, self.reach)
        return inputs

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
