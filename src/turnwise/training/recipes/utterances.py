"""Recipes of methods that embed utterances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from datasets import Dataset
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from turnwise.collators.utterances import UtteranceCollator
from turnwise.encoders.contexts import Context
from turnwise.losses import dialogue_cse, siamese, single_vector
from turnwise.losses.dialogue_cse import Aggregation, DialogueCSELoss
from turnwise.losses.in_batch import Negatives
from turnwise.losses.siamese import SiameseLoss
from turnwise.losses.single_vector import SingleVectorLoss
from turnwise.training.recipes.base import Recipe

# Six times the paper's, for all that contrast responses alike: better on the default encoder, see docs/results.md.
_LEARNING_RATE = 3e-4


@dataclass(frozen=True)
class InBatch(Recipe):
    """What the methods share that contrast responses with those of the other conversations of the batch."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch_size < 2:
            raise ValueError("batch_size must be at least 2: the negatives of a response are other conversations'")

    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        return UtteranceCollator(encoder, max_length=self.max_length)


@dataclass(frozen=True)
class DialogueCSE(InBatch):
    """See :class:`turnwise.losses.DialogueCSELoss` for the settings."""

    learning_rate: float = _LEARNING_RATE
    context_turns: int = 3
    aggregation: Aggregation = "mean"
    temperature: float = 0.1
    negatives: Negatives = "batch"

    def __post_init__(self) -> None:
        super().__post_init__()
        dialogue_cse.check_settings(self.context_turns, self.aggregation, self.temperature, self.negatives)

    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        return DialogueCSELoss(encoder, self.context_turns, self.aggregation, self.temperature, self.negatives)


@dataclass(frozen=True)
class Siamese(InBatch):
    """See :class:`turnwise.losses.SiameseLoss`; ``context_turns`` is for ``context="multi"``."""

    learning_rate: float = _LEARNING_RATE
    context: Literal["single", "multi"] = "single"
    context_turns: int = 3
    negatives: Negatives = "batch"

    def __post_init__(self) -> None:
        super().__post_init__()
        siamese.check_settings(self.context, self.negatives)
        if self.context_turns < 1:
            raise ValueError(f"context_turns must be at least 1, got {self.context_turns!r}")

    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        joined = self.context_turns if self.context == "multi" else 0
        return UtteranceCollator(encoder, max_length=self.max_length, joined_context_turns=joined)

    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        return SiameseLoss(encoder, self.context, self.negatives)


@dataclass(frozen=True)
class SingleVector(InBatch):
    """See :class:`turnwise.losses.SingleVectorLoss`.

    Attributes:
        context_turns: How many turns are joined into one text, at most.
    """

    learning_rate: float = _LEARNING_RATE
    context: Context = "joined"
    context_turns: int = 10
    temperature: float = 0.05
    negatives: Negatives = "batch"

    def __post_init__(self) -> None:
        super().__post_init__()
        single_vector.check_settings(self.context, self.temperature, self.negatives)
        if self.context_turns < 1:
            raise ValueError(f"context_turns must be at least 1, got {self.context_turns!r}")

    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        return UtteranceCollator(encoder, max_length=self.max_length, joined_context_turns=self.context_turns)

    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        return SingleVectorLoss(encoder, self.context, self.temperature, self.negatives)
