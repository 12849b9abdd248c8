"""The recipe of one encoder for utterances, whole dialogues and next utterances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from datasets import Dataset
from typing_extensions import override

from turnwise._utils.levels import LevelName
from turnwise._utils.settings import check_positive
from turnwise.collators.texts import TextCollator
from turnwise.encoders.conversation_encoder import ConversationEncoder
from turnwise.encoders.loading import load_encoder
from turnwise.encoders.transformer import use_mean_pooling
from turnwise.losses.in_batch import check_batch_size
from turnwise.papers.joined_contexts import JoinedContextCollator
from turnwise.papers.tried.taught_collator import TaughtCollator
from turnwise.papers.tried.teacher_vectors import TeacherVectors
from turnwise.papers.tried.unified import UnifiedLoss, UnifiedSettings
from turnwise.training.recipes.base import EncoderRecipe, Inputs


@dataclass(frozen=True)
class Unified(EncoderRecipe, UnifiedSettings):
    """See `turnwise.papers.UnifiedSettings` for the other settings.

    Attributes:
        head_learning_rate: Peak learning rate of the matrices of the reply head.
        recency_learning_rate: Peak learning rate of its weights by distance.
        teacher: The folder or name of a model that reads the whole context as one text, such as ``--method
            single-vector`` trains. Its distribution over the next utterances is learned as well.
    """

    level: ClassVar[LevelName] = "reply"

    learning_rate: float = 2e-4
    batch_size: int = 16
    # Half-way keeps what is learned and most of what the encoder knew, see docs/research-log.
    interpolation: float = 0.5
    head_learning_rate: float = 1e-3
    recency_learning_rate: float = 2e-2
    teacher: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "head_learning_rate", "recency_learning_rate")
        check_batch_size(self.batch_size)

    @override
    def prepare(self, encoder: ConversationEncoder) -> None:
        use_mean_pooling(encoder)  # an existing reply head is trained further

    @override
    def arguments(self, encoder: ConversationEncoder) -> dict[str, Any]:
        rates = {r"^head\.recency$": self.recency_learning_rate, r"^head\.c": self.head_learning_rate}
        return {"weight_decay": 0.01, "learning_rate_mapping": rates}

    @override
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        return {
            "train_dataset": conversations,
            "data_collator": TaughtCollator(TextCollator(encoder, self.max_length), self._teacher_vectors(encoder)),
            "loss": UnifiedLoss(encoder, UnifiedSettings.of(self)),
        }

    def _teacher_vectors(self, encoder: ConversationEncoder) -> TeacherVectors | None:
        if self.teacher is None:
            return None
        teacher = use_mean_pooling(load_encoder(self.teacher, device=str(encoder.device)))
        return TeacherVectors(JoinedContextCollator(teacher, self.max_length, self.context_turns))
