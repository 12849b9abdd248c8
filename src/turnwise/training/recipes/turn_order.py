"""Recipes of methods that embed the order of turns."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import ContrastiveLoss
from torch import Tensor, nn
from typing_extensions import override

from turnwise._utils.levels import LevelName
from turnwise._utils.settings import check_positive
from turnwise.collators.nli import CONVERSATIONS, PAIRS, MixedCollator
from turnwise.collators.turn_order import TurnOrderCollator
from turnwise.data.nli import read_nli
from turnwise.encoders.transformer import transformer_of
from turnwise.encoders.views import add_views, token_rows, views_of
from turnwise.losses.c3l import C3LLoss, C3LSettings
from turnwise.losses.ccl import CCLLoss, CCLSettings
from turnwise.losses.in_batch import Negatives
from turnwise.losses.turn_order import TurnOrderSettings
from turnwise.training.recipes.base import Recipe


@dataclass(frozen=True)
class TurnOrder(Recipe, TurnOrderSettings):
    """What CCL and C3L share; conversations of fewer turns than the window are left out.

    Attributes:
        speakers: Whether before-views distinguish the candidate's speaker from others; off for stories and documents.
        token_learning_rate: Peak learning rate of the embeddings of the prefix tokens. The other word embeddings stay.
        weight_decay: Weight decay of AdamW.
        nli: A file of natural language inference pairs, see `turnwise.data.nli.read_nli`; their batches alternate with
            those of conversations.
    """

    level: ClassVar[LevelName] = "turn-order"

    # Ten times the paper's, and all negatives of a batch instead of one: see docs/results.md.
    learning_rate: float = 2e-4
    negatives: Negatives = "batch"
    frozen_layers: int | None = 0
    speakers: bool = True
    token_learning_rate: float = 1e-3
    weight_decay: float = 0.01
    nli: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "token_learning_rate")
        if not 0 <= self.weight_decay < 1:
            raise ValueError(f"weight_decay must be at least 0 and below 1, got {self.weight_decay!r}")

    @property
    @override
    def shortest(self) -> int:
        return max(self.min_turns, self.window)

    @override
    def learning_rows(self, encoder: SentenceTransformer) -> list[int]:
        return token_rows(encoder)

    @override
    def arguments(self, encoder: SentenceTransformer) -> dict[str, Any]:
        words = transformer_of(encoder).get_input_embeddings().weight
        (name,) = (name for name, parameter in encoder.named_parameters() if parameter is words)
        return {
            "weight_decay": self.weight_decay,
            "learning_rate_mapping": {re.escape(name) + "$": self.token_learning_rate},
            "multi_dataset_batch_sampler": "round_robin",
        }

    @override
    def inputs(self, encoder: SentenceTransformer, conversations: Dataset) -> dict[str, Any]:
        """With inference pairs: two data sets with a loss each, and one collator for both."""
        inputs = super().inputs(encoder, conversations)
        if self.nli is None:
            return inputs
        return {
            "train_dataset": {CONVERSATIONS: conversations, PAIRS: read_nli(self.nli)},
            "data_collator": MixedCollator(encoder, inputs["data_collator"], self.max_length),
            "loss": {CONVERSATIONS: inputs["loss"], PAIRS: ContrastiveLoss(encoder)},
        }


@dataclass(frozen=True)
class CCL(TurnOrder, CCLSettings):
    """See `turnwise.losses.CCLSettings` for the other settings."""

    @override
    def prepare(self, encoder: SentenceTransformer) -> None:
        super().prepare(encoder)
        add_views(encoder, "ccl", self.speakers)

    @override
    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        return TurnOrderCollator(encoder, self.window, self.max_length, self.directional)

    @override
    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        return CCLLoss(encoder, CCLSettings.of(self))


@dataclass(frozen=True)
class C3L(TurnOrder, C3LSettings):
    """See `turnwise.losses.C3LSettings` for the other settings.

    Attributes:
        ccl_first: Train an encoder without views with CCL first, with the same settings; otherwise from scratch.
    """

    ccl_first: bool = True

    @override
    def prepare(self, encoder: SentenceTransformer) -> None:
        super().prepare(encoder)
        add_views(encoder, "c3l", self.speakers)

    @override
    def stage_before(self, encoder: SentenceTransformer) -> Recipe | None:
        if not self.ccl_first or views_of(encoder) is not None:
            return None
        return CCL(**{**vars(TurnOrder.of(self)), "adaptation": None})

    @override
    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        return TurnOrderCollator(encoder, self.window, self.max_length, self.directional)

    @override
    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        return C3LLoss(encoder, C3LSettings.of(self))
