"""How long and how fast anything learns, as frozen dataclasses."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from turnlens._utils.arguments import Settings, check_positive, did_you_mean
from turnlens._utils.registries import DEFAULT_METHOD


@dataclass(frozen=True)
class Pace(Settings):
    """How long and how fast an encoder, or something beside it, learns.

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
        """The steps to take with a number of rows: ``max_steps`` or, without it, all epochs but at most ``most``."""
        return self.max_steps or min(most, math.ceil(self.epochs * rows / self.batch_size))


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


def replace_settings(schedule: Any, settings: Mapping[str, Any], name: str) -> Any:
    """Settings of a method, or of a stage of it, with some of them changed.

    Raises:
        ValueError: An unknown setting, or a value out of range.
    """
    known = [field.name for field in dataclasses.fields(schedule)]
    unknown = sorted(set(settings) - set(known))
    if unknown:
        subject = "the default training" if name == DEFAULT_METHOD else name
        told = ", ".join(f"{setting!r}{did_you_mean(setting, known)}" for setting in unknown)
        raise ValueError(f"{subject} has no setting {told}: leave it out, or choose from {', '.join(known)}")
    return dataclasses.replace(schedule, **settings)
