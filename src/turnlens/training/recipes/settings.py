"""The settings of all methods of training an encoder, as frozen dataclasses."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypedDict

from datasets import Dataset
from torch import nn

from turnlens._utils.arguments import Settings, check_interpolation, check_positive
from turnlens._utils.registries import check_settings
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.transformer import use_mean_pooling
from turnlens.training.run import TrainingState


@dataclass(frozen=True)
class Pace(Settings):
    """The length and the speed of a training.

    Attributes:
        learning_rate: Peak learning rate of AdamW, reached after a tenth of the steps and then falling linearly to 0.
        batch_size: Rows (conversations, or what a method says) per step and process.
        epochs: Passes over the data; ignored where ``max_steps`` is given.
        max_steps: Number of steps.
        seed: Seed of data order, dropout and drawn negatives.
    """

    learning_rate: float = 5e-5
    batch_size: int = 8
    epochs: float = 1.0
    max_steps: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "learning_rate", "batch_size", "epochs", "max_steps")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed must be between 0 and 2**32 - 1, got {self.seed!r}")

    def steps_for(self, rows: int, most: int) -> int:
        """Return the steps for a number of rows: ``max_steps`` or, without it, all epochs but at most ``most``."""
        return self.max_steps or min(most, math.ceil(self.epochs * rows / self.batch_size))


@dataclass(frozen=True)
class Schedule(Pace):
    """The settings of a stage that runs an encoder.

    Attributes:
        gradient_accumulation_steps: How many batches make up one step with their gradients. Saves memory.
        max_length: Longest text in tokens. A text is a message, or for whole-conversation methods a conversation.
        checkpoint_steps: Write a checkpoint every this many steps.
        bf16: Run the encoder in bfloat16, which is several times as fast on processors and GPUs made for it. By default
            this is done on such GPUs only, and on processors not made for it only if ``"forced"``. Losses are always
            computed in float32.
    """

    gradient_accumulation_steps: int = 1
    max_length: int = 64
    checkpoint_steps: int = 100
    bf16: bool | Literal["forced"] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "gradient_accumulation_steps", "max_length", "checkpoint_steps")


def replace_settings(schedule: Any, settings: Mapping[str, Any], name: str) -> Any:
    """Change some settings of a method, or of a stage of it.

    Raises:
        ValueError: An unknown setting, or a value out of range.
    """
    check_settings(settings, [field.name for field in dataclasses.fields(schedule)], name)
    return dataclasses.replace(schedule, **settings)


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
    """The settings that all methods share, and the functions that each method defines.

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
    rows_are_messages: ClassVar[bool] = False  # else they are conversations
    merges_turns: ClassVar[bool] = True  # whether it learns from consecutive messages of one speaker as one
    stage: ClassVar[str] = ""  # its name in messages of progress; by default that of its class

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
    def shortest(self) -> int:
        """The number of turns that a conversation must have to be of use."""
        return self.min_turns

    @abstractmethod
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        """The trainer's data set, collator and loss, which are the method."""

    def inputs_from(self, state: TrainingState) -> Inputs:
        """Return `inputs`, for a method that also uses the vectors of earlier steps."""
        return self.inputs(state.encoder, state.conversations)

    def learning_rows(self, encoder: ConversationEncoder) -> list[int]:
        """Return the only rows of the word embeddings that learn, also in a frozen layer; none if all learn."""
        return []

    def arguments(self, encoder: ConversationEncoder) -> dict[str, Any]:
        """Return further arguments of the trainer."""
        return {}
