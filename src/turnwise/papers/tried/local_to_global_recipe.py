"""The recipe of local-to-global distillation of whole dialogues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from datasets import Dataset
from typing_extensions import override

from turnwise._utils.levels import LevelName
from turnwise.data.drawing import draw_conversations
from turnwise.encoders.conversation_encoder import ConversationEncoder
from turnwise.encoders.rendering import Keep, make_conversational
from turnwise.papers.tried.local_to_global import LocalToGlobalLoss, LocalToGlobalSettings
from turnwise.papers.tried.parts_collator import PartsCollator
from turnwise.training.precision import half_precision
from turnwise.training.recipes.base import EncoderRecipe, Inputs


@dataclass(frozen=True)
class LocalToGlobal(EncoderRecipe, LocalToGlobalSettings):
    """See `turnwise.papers.LocalToGlobalSettings` for the other settings.

    Attributes:
        sample: Learn from this many conversations, drawn at random. Each is compared with all others.
        keep: Which turns to keep of conversations that are too long.
    """

    level: ClassVar[LevelName] = "conversation"

    learning_rate: float = 1e-4
    attention_dropout: bool = False
    batch_size: int = 32
    max_length: int = 512
    sample: int = 2000
    keep: Keep = "head"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sample < 2:
            raise ValueError(f"sample must be at least 2, got {self.sample!r}: conversations are compared with others")

    @override
    def prepare(self, encoder: ConversationEncoder) -> None:
        super().prepare(encoder)
        # The teacher is the untouched encoder, which reads plain text better than text with separators.
        make_conversational(encoder, self.max_length, separate_turns=False)

    @override
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        sample = draw_conversations(conversations, self.sample, self.seed)
        # The encoder has not learned yet, even if a run is continued, because its checkpoint is loaded later.
        wholes = encoder.encode_conversations(
            sample["messages"][:], keep=self.keep, show_progress_bar=True, dtype=half_precision(self)
        )
        return {
            "train_dataset": sample.add_column("conversation", np.arange(len(sample))),
            "data_collator": PartsCollator(encoder, self.max_length, self.keep, self.seed),
            "loss": LocalToGlobalLoss(encoder, wholes, LocalToGlobalSettings.of(self)),
        }
