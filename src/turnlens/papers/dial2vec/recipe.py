"""The recipe of dial2vec, with our settings and as published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from datasets import Dataset
from typing_extensions import override

from turnlens._utils.arguments import check_positive
from turnlens._utils.registries import LevelName
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.folders import BASE_ENCODER
from turnlens.encoders.rendering import Keep, make_conversational
from turnlens.papers.adaptation import AdaptedRecipe
from turnlens.papers.citations import DIAL2VEC
from turnlens.papers.dial2vec.collator import ConversationCollator
from turnlens.papers.dial2vec.loss import Dial2vecLoss, Dial2vecSettings
from turnlens.papers.dial2vec.turn_tables import add_turn_tables, turn_tables_of
from turnlens.training.recipes.base import Inputs


@dataclass(frozen=True)
class Dial2vec(AdaptedRecipe, Dial2vecSettings):
    """See `turnlens.papers.Dial2vecSettings` and the collator for the other settings (section 4.4).

    Attributes:
        separate_turns: Mark the end of every turn with the separator token.
        turn_inputs: Give the encoder turn tables (section 3.2.1), unless it has some; see `TurnTables`.
        relative_positions: With turn tables, let the encoder's own positions count within the turn, not within the row.
        table_learning_rate: Peak learning rate of turn tables that are still zero. Tables that have already learned
            have the learning rate of the other weights, or are frozen with the embeddings.

    Examples:
        >>> from turnlens.papers import Dial2vec
        >>> Dial2vec(max_steps=60).window
        10
    """

    level: ClassVar[LevelName] = "conversation"
    citation: ClassVar[str] = DIAL2VEC
    min_speakers: ClassVar[int] = 2

    # The paper has 1e-5 and 1. These values keep both what is learned and what the encoder knew, see docs/research-log.
    learning_rate: float = 1e-4
    interpolation: float = 0.5
    # With dropout, the attention over long rows takes a slow path that builds n x n matrices.
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
    def prepare(self, encoder: ConversationEncoder) -> None:
        super().prepare(encoder)
        make_conversational(encoder, self.max_length, self.separate_turns)
        if self.turn_inputs and turn_tables_of(encoder) is None:
            add_turn_tables(encoder, positions=None if self.relative_positions else 128)

    @override
    def arguments(self, encoder: ConversationEncoder) -> dict[str, Any]:
        tables = turn_tables_of(encoder)
        if tables is None or tables.have_learned:
            return {}
        return {"learning_rate_mapping": {r"\.turn_tables\.": self.table_learning_rate}}

    @override
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        return {
            "train_dataset": conversations,
            "data_collator": ConversationCollator(
                encoder, conversations, self.negatives_per_dialogue, self.max_length, self.keep, self.seed
            ),
            "loss": Dial2vecLoss(encoder, Dial2vecSettings.of(self)),
        }


@dataclass(frozen=True)
class PublishedDial2vec(Dial2vec):
    """The settings of the paper (section 4.4): 5 dialogues on each of 4 GPUs make a step.

    Settings that the paper leaves open are those of the released code: in each of 5 epochs, every dialogue is used 10
    times, mixed with others each time, and dialogues of fewer than 5 turns are left out.

    Examples:
        >>> from turnlens.papers import PublishedDial2vec
        >>> PublishedDial2vec(epochs=1).level
        'conversation'
    """

    starts_from: ClassVar[str] = BASE_ENCODER

    learning_rate: float = 1e-5
    interpolation: float = 1.0
    gradient_accumulation_steps: int = 20
    epochs: float = 50.0
    min_turns: int = 5
    attention_dropout: bool = True
    turn_inputs: bool = True
    relative_positions: bool = True
