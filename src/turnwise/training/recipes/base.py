"""The settings that all methods share, as frozen dataclasses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypedDict

from datasets import Dataset
from torch import nn

from turnwise._utils.levels import LevelName
from turnwise._utils.settings import Settings, check_interpolation, check_positive
from turnwise.encoders.conversation_encoder import ConversationEncoder
from turnwise.encoders.folders import DEFAULT_ENCODER
from turnwise.encoders.transformer import use_mean_pooling


@dataclass(frozen=True)
class Pace(Settings):
    """How long and how fast an encoder, or something beside it, learns.

    Attributes:
        learning_rate: Peak learning rate of AdamW, reached after a tenth of the steps and then falling linearly to 0.
        batch_size: Rows (conversations; for adaptation, messages) per step and process.
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


@dataclass(frozen=True)
class Recipe(Pace):
    """A method with all its settings: what `turnwise.train` takes.

    A method learns on texts, which an encoder reads while it learns (`EncoderRecipe`), or on the vectors of an encoder
    that stays as it is, or first on the one and then on the other.
    """

    level: ClassVar[LevelName] = "message"  # what the trained encoder embeds
    starts_from: ClassVar[str] = DEFAULT_ENCODER  # the encoder if none is given
    learns_on: ClassVar[Literal["texts", "vectors", "both"]] = "texts"
    citation: ClassVar[str] = ""  # BibTeX of the paper that the method comes from


@dataclass(frozen=True)
class Schedule(Pace):
    """How a stage that runs an encoder learns.

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


@dataclass(frozen=True)
class Adaptation(Schedule):
    """Continued pre-training as a masked language model on the messages (DialogueCSE, section 5.3).

    Attributes:
        mask_probability: Share of tokens to predict.
        max_predictions: Predict at most this many tokens of a message.
    """

    learning_rate: float = 2e-5
    batch_size: int = 50
    epochs: float = 0.5
    max_length: int = 100
    mask_probability: float = 0.15
    max_predictions: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.mask_probability < 1:
            raise ValueError(f"mask_probability must lie between 0 and 1, got {self.mask_probability!r}")
        check_positive(self, "max_predictions")


class Inputs(TypedDict):
    """What the trainer learns from.

    Attributes:
        train_dataset: The rows; if there are several data sets, by name, each has its own loss.
        data_collator: Makes the tensors of a batch from rows.
        loss: The loss, with the settings that it shares with the recipe.
    """

    train_dataset: Dataset | dict[str, Dataset]
    data_collator: Any
    loss: nn.Module | dict[str, nn.Module]


@dataclass(frozen=True)
class EncoderRecipe(Schedule, Recipe, ABC):
    """What all methods that train an encoder share.

    Attributes:
        frozen_layers: How many of the lowest transformer layers are frozen, along with the embeddings. ``None`` freezes
            the lower half, as in the DialogueCSE paper.
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
        adaptation: Continued pre-training beforehand, if any.
    """

    min_speakers: ClassVar[int] = 1  # as many as a conversation must have to teach the encoder
    merges_turns: ClassVar[bool] = True  # whether it learns from consecutive messages of one speaker as one

    frozen_layers: int | None = None
    min_turns: int = 2
    interpolation: float = 1.0
    attention_dropout: bool = True
    recompute: bool = False
    snapshots: int | None = None
    adaptation: Adaptation | None = None

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
        """What progress calls the training."""
        return type(self).__name__

    @property
    def shortest(self) -> int:
        """The number of turns that a conversation must have to be of use."""
        return self.min_turns

    def stage_before(self, encoder: ConversationEncoder) -> EncoderRecipe | None:
        """The method with which to train this encoder first, if any."""
        return None

    @abstractmethod
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        """What the trainer learns from: data set, collator and loss. These are the method."""

    def learning_rows(self, encoder: ConversationEncoder) -> list[int]:
        """The only rows of the word embeddings that learn, even in a frozen layer; empty if all learn as usual."""
        return []

    def arguments(self, encoder: ConversationEncoder) -> dict[str, Any]:
        """Further arguments of the trainer."""
        return {}
