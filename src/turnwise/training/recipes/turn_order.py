"""Recipes of methods that embed the order of turns."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import ContrastiveLoss
from torch import Tensor, nn
from typing_extensions import override

from turnwise._utils.levels import LevelName
from turnwise._utils.settings import check_positive
from turnwise.collators.corpus_negatives import CorpusNegatives
from turnwise.collators.mixing import UtterancePool
from turnwise.collators.nli import CONVERSATIONS, PAIRS, MixedCollator
from turnwise.collators.pieces import PieceCollator, cut_windows
from turnwise.collators.turn_order import TurnOrderCollator
from turnwise.data.nli import read_nli
from turnwise.encoders.transformer import transformer_of
from turnwise.encoders.views import TokenOrder, add_views, token_rows, views_of
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
        token_order: Order of the prefix tokens, see `turnwise.add_views`; by default that of the encoder's views.
        unit: What a batch counts, ``"conversation"`` or, mixed over the whole corpus, ``"window"``.
        negatives_from: Where random negatives are drawn: ``"batch"``, or ``"corpus"``, as in the authors' code. These
            are encoded besides: for each window and each of ``negatives``, 4 utterances in CCL and 16 in C3L.
        learn_words: Let all word embeddings learn, at ``learning_rate``.
        token_learning_rate: Else the peak learning rate of those of the prefix tokens; the others then stay.
        weight_decay: Weight decay of AdamW.
        nli: A file of natural language inference pairs, see `turnwise.data.nli.read_nli`; their batches alternate with
            those of conversations.
        nli_pairs: Pairs in such a batch for each of ``batch_size``.
    """

    level: ClassVar[LevelName] = "turn-order"
    views: ClassVar[Literal["ccl", "c3l"]]

    # Ten times the paper's, and all negatives of a batch instead of one: see docs/results.md.
    learning_rate: float = 2e-4
    negatives: Negatives = "batch"
    frozen_layers: int | None = 0
    speakers: bool = True
    token_order: TokenOrder | None = None
    unit: Literal["conversation", "window"] = "conversation"
    negatives_from: Literal["batch", "corpus"] = "batch"
    learn_words: bool = False
    token_learning_rate: float = 1e-3
    weight_decay: float = 0.01
    nli: str | None = None
    nli_pairs: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "token_learning_rate", "nli_pairs")
        if self.negatives_from == "corpus" and self.negatives == "batch":
            raise ValueError("negatives_from='corpus' needs a number of negatives, such as negatives=1, got 'batch'")
        if self.unit == "window" and self.negatives_from == "batch":
            raise ValueError(
                "unit='window' needs negatives_from='corpus': windows of one conversation may meet in a batch, and "
                "would be negatives of each other"
            )
        if self.learn_words and self.frozen_layers != 0:
            raise ValueError(
                f"learn_words needs frozen_layers=0, got {self.frozen_layers!r}: they lie below all layers"
            )
        if not 0 <= self.weight_decay < 1:
            raise ValueError(f"weight_decay must be at least 0 and below 1, got {self.weight_decay!r}")

    @property
    @override
    def shortest(self) -> int:
        return max(self.min_turns, self.window)

    @override
    def prepare(self, encoder: SentenceTransformer) -> None:
        super().prepare(encoder)
        if self.nli is not None and not Path(self.nli).is_file():  # before anything is written
            raise FileNotFoundError(
                f"nli: {self.nli}: no such file of inference pairs (--set nli=FILE, or --set nli=none for none)"
            )
        add_views(encoder, self.views, self.speakers, self.token_order)

    @override
    def learning_rows(self, encoder: SentenceTransformer) -> list[int]:
        return [] if self.learn_words else token_rows(encoder)

    @override
    def arguments(self, encoder: SentenceTransformer) -> dict[str, Any]:
        arguments = {"weight_decay": self.weight_decay, "multi_dataset_batch_sampler": "round_robin"}
        if self.learn_words:
            return arguments
        words = transformer_of(encoder).get_input_embeddings().weight
        (name,) = (name for name, parameter in encoder.named_parameters() if parameter is words)
        return {**arguments, "learning_rate_mapping": {re.escape(name) + "$": self.token_learning_rate}}

    def collator_of(
        self, encoder: SentenceTransformer, conversations: Dataset, directional: bool
    ) -> Callable[..., dict[str, Tensor]]:
        """The data collator, with or without what directional negatives need."""
        negatives = None
        if self.negatives_from == "corpus" and isinstance(self.negatives, int):
            negatives = CorpusNegatives(UtterancePool(conversations), self.negatives, self.seed)
        collator = TurnOrderCollator(encoder, self.window, self.max_length, directional, negatives)
        return PieceCollator(collator, conversations) if self.unit == "window" else collator

    @override
    def inputs(self, encoder: SentenceTransformer, conversations: Dataset) -> dict[str, Any]:
        """With inference pairs: two data sets with a loss each, and one collator for both."""
        inputs = super().inputs(encoder, conversations)
        if self.unit == "window":
            inputs["train_dataset"] = cut_windows(conversations, self.window)
        if self.nli is None:
            return inputs
        pairs = read_nli(self.nli)
        if self.nli_pairs > 1:  # those of a row stay together
            pairs = pairs.shuffle(self.seed)
        return {
            "train_dataset": {CONVERSATIONS: inputs["train_dataset"], PAIRS: pairs.batch(self.nli_pairs)},
            "data_collator": MixedCollator(encoder, inputs["data_collator"], self.max_length),
            "loss": {CONVERSATIONS: inputs["loss"], PAIRS: ContrastiveLoss(encoder)},
        }


@dataclass(frozen=True)
class CCL(TurnOrder, CCLSettings):
    """See `turnwise.losses.CCLSettings` for the other settings."""

    views: ClassVar[Literal["ccl", "c3l"]] = "ccl"

    @override
    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        return self.collator_of(encoder, conversations, self.directional)

    @override
    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        return CCLLoss(encoder, CCLSettings.of(self))


@dataclass(frozen=True)
class C3L(TurnOrder, C3LSettings):
    """See `turnwise.losses.C3LSettings` for the other settings.

    Attributes:
        ccl_first: Train an encoder without views with CCL first, with the same settings; otherwise from scratch.
    """

    views: ClassVar[Literal["ccl", "c3l"]] = "c3l"

    ccl_first: bool = True

    @override
    def stage_before(self, encoder: SentenceTransformer) -> Recipe | None:
        if not self.ccl_first or views_of(encoder) is not None:
            return None
        return CCL(**{**vars(TurnOrder.of(self)), "adaptation": None})

    @override
    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        return self.collator_of(encoder, conversations, self.directional)

    @override
    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        return C3LLoss(encoder, C3LSettings.of(self))
