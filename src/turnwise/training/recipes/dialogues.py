"""The recipes of dial2vec and of local-to-global distillation, which embed whole dialogues."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn
from typing_extensions import override

from turnwise._utils.levels import LevelName
from turnwise._utils.settings import check_positive
from turnwise.collators.conversations import ConversationCollator
from turnwise.collators.parts import PartsCollator
from turnwise.data.drawing import draw_conversations
from turnwise.encoders.conversations import encode_conversations
from turnwise.encoders.rendering import Keep, make_conversational
from turnwise.encoders.turn_tables import add_turn_tables, turn_tables_of, uses_turns
from turnwise.losses.dial2vec import Dial2vecLoss, Dial2vecSettings
from turnwise.losses.local_to_global import LocalToGlobalLoss, LocalToGlobalSettings
from turnwise.training.precision import half_precision
from turnwise.training.recipes.base import Recipe


@dataclass(frozen=True)
class Dial2vec(Recipe, Dial2vecSettings):
    """See `turnwise.losses.Dial2vecSettings` and the collator for the other settings (section 4.4).

    Attributes:
        separate_turns: Mark the end of every turn with the separator token.
        turn_inputs: Give the encoder turn tables (section 3.2.1), unless it has some; see `turnwise.add_turn_tables`.
        relative_positions: With them, let the encoder's own positions count within the turn instead of within the row.
        table_learning_rate: Peak learning rate of turn tables that are still zero. Those that have learned keep that of
            the other weights, or are frozen with the embeddings.
    """

    level: ClassVar[LevelName] = "dialogue"
    min_speakers: ClassVar[int] = 2

    # The paper: 1e-5 and 1. These keep both what is learned and what the encoder knew, see docs/results.md.
    learning_rate: float = 1e-4
    interpolation: float = 0.5
    # With it, the attention of long rows takes a slow path that builds n x n matrices.
    attention_dropout: bool = False
    # Dialogues do not compete with each other, so one at a time gives the gradient of the paper's five in less memory.
    batch_size: int = 1
    gradient_accumulation_steps: int = 5
    max_length: int = 512
    negatives_per_dialogue: int = 9
    keep: Keep = "head"
    separate_turns: bool = True
    turn_inputs: bool = False
    relative_positions: bool = False
    table_learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "table_learning_rate")
        if self.relative_positions and not self.turn_inputs:
            raise ValueError("relative_positions=true counts positions within turns: it needs turn_inputs=true")

    @override
    def prepare(self, encoder: SentenceTransformer) -> None:
        super().prepare(encoder)
        make_conversational(encoder, self.max_length, self.separate_turns)
        if self.turn_inputs and not uses_turns(encoder):
            add_turn_tables(encoder, positions=None if self.relative_positions else 128)

    @override
    def arguments(self, encoder: SentenceTransformer) -> dict[str, Any]:
        tables = turn_tables_of(encoder)
        if tables is None or tables.have_learned:
            return {}
        return {"learning_rate_mapping": {r"\.turn_tables\.": self.table_learning_rate}}

    @override
    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        return ConversationCollator(
            encoder, conversations, self.negatives_per_dialogue, self.max_length, self.keep, self.seed
        )

    @override
    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        return Dial2vecLoss(encoder, Dial2vecSettings.of(self))


@dataclass(frozen=True)
class LocalToGlobal(Recipe, LocalToGlobalSettings):
    """See `turnwise.losses.LocalToGlobalSettings` for the other settings.

    Attributes:
        sample: Learn from so many conversations, drawn at random. Each is compared with all others.
        keep: Which turns of conversations that are too long.
    """

    level: ClassVar[LevelName] = "dialogue"

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
    def prepare(self, encoder: SentenceTransformer) -> None:
        super().prepare(encoder)
        # The teacher is the untouched encoder, which reads plain text better than text with separators.
        make_conversational(encoder, self.max_length, separate_turns=False)

    @override
    def inputs(self, encoder: SentenceTransformer, conversations: Dataset) -> dict[str, Any]:
        sample = draw_conversations(conversations, self.sample, self.seed)
        # The encoder has not learned yet, also where a run goes on: its checkpoint is loaded later.
        wholes = encode_conversations(
            encoder, sample["messages"][:], keep=self.keep, show_progress_bar=True, dtype=half_precision(self)
        )
        return {
            "train_dataset": sample.add_column("dialogue", np.arange(len(sample))),
            "data_collator": PartsCollator(encoder, self.max_length, self.keep, self.seed),
            "loss": LocalToGlobalLoss(encoder, wholes, LocalToGlobalSettings.of(self)),
        }
