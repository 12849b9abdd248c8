"""The parts of a method that trains an encoder: its settings, the encoder it needs, its data and its loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

from datasets import Dataset
from torch import nn

from turnlens._utils.arguments import check_interpolation, check_positive
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.transformer import use_mean_pooling
from turnlens.training.recipes.settings import Schedule
from turnlens.training.state import TrainingState


class Inputs(TypedDict):
    """The trainer's data set, collator and loss.

    Attributes:
        train_dataset: The rows; if there are several data sets, by name, each has its own loss.
        data_collator: Makes the tensors of a batch from rows.
        loss: The loss, with the settings that it shares with the recipe.
    """

    train_dataset: Dataset | dict[str, Dataset]
    data_collator: Any
    loss: nn.Module | dict[str, nn.Module]


@dataclass(frozen=True)
class Objective(Schedule, ABC):
    """The settings that all methods of training an encoder share, and what a method defines.

    Attributes:
        frozen_layers: How many of the lowest transformer layers are frozen, along with the embeddings. ``None`` freezes
            the lower half.
        min_turns: Leave out conversations of fewer turns, counted once consecutive messages of one speaker are merged.
        interpolation: The position of the result's weights on the straight line from the weights before (0) to the
            trained ones (1, as published). In between, the encoder keeps more of what it knew (Wortsman et al., Robust
            Fine-tuning of Zero-shot Models, CVPR 2022).
        attention_dropout: Drop attention weights during training, at the rate in the encoder's configuration.
        recompute: Do not keep activations, but compute them again for the gradient, which stays the same to the last
            bit. A batch then needs memory only for its token embeddings and one slice, at the cost of one more forward
            pass (GradCache).
        snapshots: Keep a model every this many steps in the folder ``<output>.snapshots``, to see how training goes.
            These models have the trained weights, without interpolation.
    """

    min_speakers: ClassVar[int] = 1  # as many as a conversation must have to teach the encoder
    merges_turns: ClassVar[bool] = True  # whether it learns from consecutive messages of one speaker as one

    frozen_layers: int | None = None
    min_turns: int = 2
    interpolation: float = 1.0
    attention_dropout: bool = True
    recompute: bool = False
    snapshots: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_turns < 2:
            raise ValueError(f"min_turns must be at least 2, got {self.min_turns!r}: a response needs a context")
        check_interpolation(self.interpolation)
        check_positive(self, "snapshots")
        if self.frozen_layers is not None and self.frozen_layers < 0:
            raise ValueError(f"frozen_layers must be 0 or more, got {self.frozen_layers!r}")

    def prepare(self, encoder: ConversationEncoder) -> None:
        """Prepare the encoder for the method, in place."""
        encoder.reply_head = None  # it was made for the vectors before this training
        use_mean_pooling(encoder)

    @property
    def stage(self) -> str:
        """The name of the training in progress messages."""
        return type(self).__name__

    @property
    def shortest(self) -> int:
        """The number of turns that a conversation must have to be of use."""
        return self.min_turns

    @abstractmethod
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        """The trainer's data set, collator and loss, which are the method."""

    def inputs_from(self, state: TrainingState) -> Inputs:
        """As `inputs`, for a method that also learns from what steps before it have made."""
        return self.inputs(state.encoder, state.conversations)

    def learning_rows(self, encoder: ConversationEncoder) -> list[int]:
        """The only rows of the word embeddings that learn, even in a frozen layer; empty if all learn as usual."""
        return []

    def arguments(self, encoder: ConversationEncoder) -> dict[str, Any]:
        """Further arguments of the trainer."""
        return {}
