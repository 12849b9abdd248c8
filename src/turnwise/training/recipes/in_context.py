"""The recipe by which messages learn what they are said about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from typing_extensions import override

from turnwise.collators.messages import MessageCollator
from turnwise.collators.utterances import UtteranceCollator
from turnwise.data.drawing import draw_conversations
from turnwise.encoders.in_context import encode_in_context
from turnwise.losses.in_context import InContextLoss, InContextSettings
from turnwise.training.precision import half_precision
from turnwise.training.recipes.base import Recipe


@dataclass(frozen=True)
class InContext(Recipe, InContextSettings):
    """See `turnwise.losses.InContextSettings` for the other settings. A batch counts messages.

    Attributes:
        sample: Learn from so many conversations, drawn at random. All of them are read before the first step.
    """

    learning_rate: float = 3e-4
    attention_dropout: bool = False
    batch_size: int = 512
    sample: int = 3000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sample < 2 or self.batch_size < 2:
            raise ValueError(
                f"sample and batch_size must be at least 2, got {self.sample!r} and {self.batch_size!r}: messages are "
                "compared with those of other conversations"
            )

    @override
    def inputs(self, encoder: SentenceTransformer, conversations: Dataset) -> dict[str, Any]:
        sample = draw_conversations(conversations, self.sample, self.seed)["messages"][:]
        # The encoder has not learned yet, also where a run goes on: its checkpoint is loaded later.
        in_context = encode_in_context(encoder, sample, show_progress_bar=True, dtype=half_precision(self))
        messages = {
            "text": [message["content"] for messages in sample for message in messages],
            "conversation": np.repeat(np.arange(len(sample)), [len(messages) for messages in sample]),
            "message": np.arange(len(in_context)),
        }
        return {
            "train_dataset": Dataset.from_dict(messages),
            "data_collator": MessageCollator(UtteranceCollator(encoder, self.max_length)),
            "loss": InContextLoss(encoder, in_context, InContextSettings.of(self)),
        }
