"""Unsupervised SimCSE: a text and itself under another dropout mask are a pair (Gao et al., EMNLP 2021)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from transformers import set_seed

from turnlens.data.messages import Conversations
from turnlens.encoders.messages import encode_messages
from turnlens.encoders.transformer import use_mean_pooling
from turnlens.papers.baselines.baseline import fitted, utterances
from turnlens.training.recipes import Schedule
from turnlens.training.trainer import ConversationTrainer, fit, training_arguments


@dataclass(frozen=True)
class SimCSESettings(Schedule):
    """The paper's settings for BERT-base, unsupervised.

    Attributes:
        temperature: Cosines are divided by it.
    """

    learning_rate: float = 3e-5
    batch_size: int = 64
    max_length: int = 32
    temperature: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.temperature > 0:
            raise ValueError(f"temperature must be positive, got {self.temperature!r}")
        if self.batch_size < 2:
            raise ValueError("batch_size must be at least 2: the negatives of a text are the others of its batch")


class SimCSE:
    """Trains a copy of an encoder on the conversations' distinct utterances with sentence-transformers' own loss.

    Args:
        encoder: The encoder to start from; it is not changed. Its tokens are mean-pooled.
        settings: The settings.

    Attributes:
        losses: Mean training loss of every ten steps, once fitted.
    """

    def __init__(self, encoder: SentenceTransformer, settings: SimCSESettings | None = None) -> None:
        self.encoder = encoder
        self.settings = settings or SimCSESettings()
        self.trained: SentenceTransformer | None = None
        self.losses: list[float] = []

    def fit(self, conversations: Conversations) -> Self:
        """Train on conversations.

        Raises:
            ValueError: There is no text.
        """
        # Only distinct texts: a text that occurred twice in a batch would be its own negative.
        texts = utterances(conversations)
        trained = use_mean_pooling(copy.deepcopy(self.encoder))
        length = trained.max_seq_length
        trained.max_seq_length = min(self.settings.max_length, length or self.settings.max_length)
        set_seed(self.settings.seed)
        with training_arguments(self.settings, None) as shared:
            trainer = ConversationTrainer(
                model=trained,
                args=SentenceTransformerTrainingArguments(**shared),
                train_dataset=Dataset.from_dict({"anchor": texts, "positive": texts}),
                loss=MultipleNegativesRankingLoss(trained, scale=1 / self.settings.temperature),
            )
            fit(trainer, None, "SimCSE")
        trained.max_seq_length = length
        self.trained = trained.eval()
        self.losses = [log["loss"] for log in trainer.state.log_history if "loss" in log]
        return self

    def encode_messages(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts, float32 (texts, dim)."""
        return encode_messages(fitted(self.trained, self), texts)
