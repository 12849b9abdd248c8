"""The recipe by which the vectors of single messages learn from their context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from datasets import Dataset
from typing_extensions import override

from turnlens._utils.vectors import FloatArray, unit_vectors
from turnlens.data.dataset_operations import draw_conversations
from turnlens.data.messages import Messages, texts_of
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.history import add_surroundings
from turnlens.encoders.messages import encode_in_context, encode_messages
from turnlens.training.collators import MessageCollator
from turnlens.training.encoder_modes import half_precision
from turnlens.training.losses.base import CosineSettings
from turnlens.training.losses.in_context import InContextLoss
from turnlens.training.recipes.base import EncoderRecipe, Inputs


@dataclass(frozen=True)
class InContext(EncoderRecipe, CosineSettings):
    """Distil messages in context into messages read alone; ``batch_size`` counts messages.

    The temperature is that of `turnlens.training.losses.CosineSettings`.

    Attributes:
        sample: Learn from this many conversations, drawn at random. All of them are read before the first step.
        context: Which vectors of messages in context to learn from. ``"joined"``: the vectors from reading the whole
            conversation. ``"both"``: these, together with the sum of the message's own vector and those around it
            (`turnlens.encoders.history.add_surroundings`), which teaches more.

    Examples:
        >>> InContext(max_steps=10).temperature
        0.05
    """

    rows_are_messages: ClassVar[bool] = True

    learning_rate: float = 3e-4
    attention_dropout: bool = False
    batch_size: int = 512
    sample: int = 3000
    context: Literal["joined", "both"] = "both"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sample < 2 or self.batch_size < 2:
            raise ValueError(
                f"sample and batch_size must be at least 2, got {self.sample!r} and {self.batch_size!r}: messages are "
                "compared with those of other conversations"
            )

    @override
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        sample = draw_conversations(conversations, self.sample, self.seed)["messages"][:]
        # The encoder has not learned yet, even if a run is continued, because its checkpoint is loaded later.
        alone = self.alone(encoder, sample) if self.context == "both" else None
        return self.inputs_of(encoder, sample, self.in_context(encoder, sample, alone))

    def alone(self, encoder: ConversationEncoder, conversations: list[Messages]) -> FloatArray:
        """Embed all messages, each read alone (messages, dim)."""
        return encode_messages(encoder, texts_of(conversations), show_progress_bar=True, dtype=half_precision(self))

    def in_context(
        self, encoder: ConversationEncoder, conversations: list[Messages], alone: FloatArray | None
    ) -> FloatArray:
        """Embed all messages in context, as targets of the training (messages, any).

        Args:
            encoder: The encoder, before it learns.
            conversations: The conversations.
            alone: The vectors of the messages, each read alone; not needed if the recipe's ``context`` is ``"joined"``.
        """
        joined = encode_in_context(encoder, conversations, show_progress_bar=True, dtype=half_precision(self))
        if self.context == "joined" or alone is None:
            return joined
        joined = unit_vectors(joined - joined.mean(axis=0))
        return np.concatenate([joined, add_surroundings(alone, list(map(len, conversations)))], axis=1)

    def inputs_of(self, encoder: ConversationEncoder, conversations: list[Messages], in_context: FloatArray) -> Inputs:
        """Return the data set, collator and loss for the vectors of messages in context."""
        turns = list(map(len, conversations))
        messages = {
            "text": texts_of(conversations),
            "conversation": np.repeat(np.arange(len(turns)), turns),
            "message": np.arange(sum(turns)),
        }
        return {
            "train_dataset": Dataset.from_dict(messages),
            "data_collator": MessageCollator(encoder, self.max_length),
            "loss": InContextLoss(encoder, in_context, CosineSettings.of(self)),
        }
