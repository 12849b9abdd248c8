"""Recipes of methods that embed the order of turns."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Literal

from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import ContrastiveLoss
from torch import Tensor, nn
from typing_extensions import override

from turnlens._utils.arguments import check_positive
from turnlens._utils.registries import LevelName
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.folders import BASE_ENCODER
from turnlens.encoders.transformer import transformer_of
from turnlens.papers import citations
from turnlens.papers.adaptation import AdaptedRecipe
from turnlens.papers.pieces import PieceCollator, UtterancePool, cut_windows
from turnlens.papers.triple_encoders.c3l import C3LLoss, C3LSettings
from turnlens.papers.triple_encoders.ccl import CCLLoss, CCLSettings
from turnlens.papers.triple_encoders.collator import CorpusNegatives, TurnOrderCollator
from turnlens.papers.triple_encoders.nli import CONVERSATIONS, PAIRS, MixedCollator, read_nli
from turnlens.papers.triple_encoders.turn_order import TurnOrderSettings
from turnlens.papers.triple_encoders.views import TokenOrder, add_views, token_rows, views_of
from turnlens.training.losses.in_batch import Negatives
from turnlens.training.recipes.base import Inputs


@dataclass(frozen=True)
class TurnOrder(AdaptedRecipe, TurnOrderSettings):
    """The common part of CCL and C3L; conversations of fewer turns than the window are left out.

    Attributes:
        speakers: Whether before-views distinguish the candidate's speaker from others; off for stories and documents.
        token_learning_rate: Peak learning rate of the embeddings of the prefix tokens; those of other words do not
            change.
        weight_decay: Weight decay of AdamW.
        nli: A file of natural language inference pairs, see `turnlens.papers.triple_encoders.nli.read_nli`; their
            batches alternate with those of conversations.
        nli_pairs: Pairs in such a batch for each of ``batch_size``.
    """

    level: ClassVar[LevelName] = "reply"
    views: ClassVar[Literal["ccl", "c3l"]]
    # By default that of the views the encoder has, see `turnlens.papers.add_views`.
    token_order: ClassVar[TokenOrder | None] = None
    # 0 pushes neutral inference pairs apart, as contradictions. The authors' code gives the contrastive loss 2, which
    # pulls them together harder than entailed ones.
    neutral_label: ClassVar[int] = 0

    # Ten times the paper's learning rate, and all negatives of a batch instead of one: see docs/research-log.
    learning_rate: float = 2e-4
    negatives: Negatives = "batch"
    frozen_layers: int | None = 0
    speakers: bool = True
    token_learning_rate: float = 1e-3
    weight_decay: float = 0.01
    nli: str | None = None
    nli_pairs: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "token_learning_rate", "nli_pairs")
        if not 0 <= self.weight_decay < 1:
            raise ValueError(f"weight_decay must be at least 0 and below 1, got {self.weight_decay!r}")

    @property
    @override
    def shortest(self) -> int:
        return max(self.min_turns, self.window)

    @override
    def prepare(self, encoder: ConversationEncoder) -> None:
        super().prepare(encoder)
        if self.nli is not None and not Path(self.nli).is_file():  # before anything is written
            raise FileNotFoundError(
                f"nli: {self.nli}: no such file of inference pairs (--set nli=FILE, or --set nli=none for none)"
            )
        add_views(encoder, self.views, self.speakers, self.token_order)

    @override
    def learning_rows(self, encoder: ConversationEncoder) -> list[int]:
        return token_rows(encoder)

    @override
    def arguments(self, encoder: ConversationEncoder) -> dict[str, Any]:
        words = transformer_of(encoder).get_input_embeddings().weight
        (name,) = (name for name, parameter in encoder.named_parameters() if parameter is words)
        rates = {re.escape(name) + "$": self.token_learning_rate}
        return {**self.shared_arguments(), "learning_rate_mapping": rates}

    def shared_settings(self) -> dict[str, Any]:
        """The settings that CCL also has, for the training with CCL that comes first."""
        return {field.name: getattr(self, field.name) for field in fields(TurnOrder)} | {
            "adaptation": None,
            "snapshots": None,
        }

    def shared_arguments(self) -> dict[str, Any]:
        """Arguments of the trainer that do not depend on which word embeddings learn."""
        return {"weight_decay": self.weight_decay, "multi_dataset_batch_sampler": "round_robin"}

    def batches(
        self, encoder: SentenceTransformer, conversations: Dataset, directional: bool
    ) -> tuple[Dataset, Callable[..., dict[str, Tensor]]]:
        """The rows of the data set and their collator, with or without what directional negatives need."""
        return conversations, TurnOrderCollator(encoder, self.window, self.max_length, directional)

    def inputs_of(
        self, encoder: SentenceTransformer, conversations: Dataset, directional: bool, loss: nn.Module
    ) -> Inputs:
        """As `inputs`, with this loss. With inference pairs there are two data sets, each with its own loss."""
        rows, collator = self.batches(encoder, conversations, directional)
        if self.nli is None:
            return {"train_dataset": rows, "data_collator": collator, "loss": loss}
        pairs = read_nli(self.nli, self.neutral_label)
        if self.nli_pairs > 1:  # the pairs of a row stay together
            pairs = pairs.shuffle(self.seed)
        return {
            "train_dataset": {CONVERSATIONS: rows, PAIRS: pairs.batch(self.nli_pairs)},
            "data_collator": MixedCollator(encoder, collator, self.max_length),
            "loss": {CONVERSATIONS: loss, PAIRS: ContrastiveLoss(encoder)},
        }


@dataclass(frozen=True)
class CCL(TurnOrder, CCLSettings):
    """See `turnlens.papers.CCLSettings` for the other settings.

    Examples:
        >>> from turnlens.papers import CCL
        >>> CCL(max_steps=100).views
        'ccl'
    """

    views: ClassVar[Literal["ccl", "c3l"]] = "ccl"
    citation: ClassVar[str] = citations.CCL

    @override
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        return self.inputs_of(encoder, conversations, self.directional, CCLLoss(encoder, CCLSettings.of(self)))


@dataclass(frozen=True)
class C3L(TurnOrder, C3LSettings):
    """See `turnlens.papers.C3LSettings` for the other settings.

    Attributes:
        ccl_first: Train an encoder without views with CCL first, with the same settings; otherwise from scratch.

    Examples:
        >>> from turnlens.papers import C3L
        >>> C3L(ccl_first=False).views
        'c3l'
    """

    views: ClassVar[Literal["ccl", "c3l"]] = "c3l"
    citation: ClassVar[str] = f"{citations.CCL}\n{citations.TRIPLE_ENCODERS}"  # it starts from CCL

    before: ClassVar[type[CCL]] = CCL

    ccl_first: bool = True

    @override
    def stage_before(self, encoder: ConversationEncoder) -> CCL | None:
        if not self.ccl_first or views_of(encoder) is not None:
            return None
        return self.before(**self.shared_settings())

    @override
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        return self.inputs_of(encoder, conversations, self.directional, C3LLoss(encoder, C3LSettings.of(self)))


_PAIRS = "AllNLI.tsv.gz"  # as it is distributed, in the folder where the training is started


@dataclass(frozen=True)
class Published(TurnOrder):
    """``batch_size`` counts windows, which are mixed over the whole corpus, and all word embeddings learn.

    Random negatives are drawn from the corpus and encoded, too: for each window and each of ``negatives``, 4 utterances
    in CCL and 16 in C3L.
    """

    starts_from: ClassVar[str] = BASE_ENCODER
    token_order: ClassVar[TokenOrder | None] = "published"
    neutral_label: ClassVar[int] = 2

    learning_rate: float = 2e-5
    epochs: float = 10.0
    max_length: int = 512
    negatives: Negatives = 1
    nli: str | None = _PAIRS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.negatives == "batch":
            raise ValueError("negatives must be a number, such as 1: as published, they are drawn from the corpus")
        if self.frozen_layers != 0:
            raise ValueError(
                f"frozen_layers must be 0, got {self.frozen_layers!r}: as published, all word embeddings learn, which "
                "lie below all layers"
            )

    @override
    def parsed(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        parsed = super().parsed(settings)
        if "nli" in parsed or Path(_PAIRS).is_file():
            return parsed
        logging.getLogger("turnlens").warning(
            "%s is not in this folder: the paper's inference pairs are left out; --set nli=FILE adds some", _PAIRS
        )
        return {**parsed, "nli": None}

    @override
    def learning_rows(self, encoder: ConversationEncoder) -> list[int]:
        return []

    @override
    def arguments(self, encoder: ConversationEncoder) -> dict[str, Any]:
        return {**self.shared_arguments(), "adam_epsilon": 1e-6}

    @override
    def batches(
        self, encoder: SentenceTransformer, conversations: Dataset, directional: bool
    ) -> tuple[Dataset, Callable[..., dict[str, Tensor]]]:
        negatives = CorpusNegatives(UtterancePool(conversations), int(self.negatives), self.seed)
        collator = TurnOrderCollator(encoder, self.window, self.max_length, directional, negatives)
        return cut_windows(conversations, self.window), PieceCollator(collator, conversations)


@dataclass(frozen=True)
class PublishedCCL(Published, CCL):
    """A batch of 4 windows has the 48 pairs of the authors' code.

    Examples:
        >>> from turnlens.papers import PublishedCCL
        >>> PublishedCCL(nli=None).batch_size
        4
    """

    batch_size: int = 4
    nli_pairs: int = 12


@dataclass(frozen=True)
class PublishedC3L(Published, C3L):
    """A batch of 3 windows has about the 48 triples of the authors' code.

    Examples:
        >>> from turnlens.papers import PublishedC3L
        >>> PublishedC3L(nli=None).batch_size
        3
    """

    before: ClassVar[type[CCL]] = PublishedCCL

    batch_size: int = 3
    nli_pairs: int = 16
