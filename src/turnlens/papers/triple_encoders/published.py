"""CCL and C3L with the settings of the paper (section 5.1) and of the authors' code."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from datasets import Dataset
from sentence_transformers import SentenceTransformer
from torch import Tensor
from typing_extensions import override

from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.folders import BASE_ENCODER
from turnlens.papers.pieces import PieceCollator, cut_windows
from turnlens.papers.triple_encoders.collator import TurnOrderCollator
from turnlens.papers.triple_encoders.corpus_negatives import CorpusNegatives
from turnlens.papers.triple_encoders.recipe import C3L, CCL, TurnOrder
from turnlens.papers.triple_encoders.views import TokenOrder
from turnlens.papers.utterance_pool import UtterancePool
from turnlens.training.losses.in_batch import Negatives

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
    """A batch of 4 windows has the 48 pairs of the authors' code."""

    batch_size: int = 4
    nli_pairs: int = 12


@dataclass(frozen=True)
class PublishedC3L(Published, C3L):
    """A batch of 3 windows has about the 48 triples of the authors' code."""

    before: ClassVar[type[CCL]] = PublishedCCL

    batch_size: int = 3
    nli_pairs: int = 16
