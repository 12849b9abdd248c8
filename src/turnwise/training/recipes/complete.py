"""The default recipe: an encoder learns all it can from one's own chats, and keeps it if it helps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from typing_extensions import override

from turnwise.training.recipes.in_context import InContext

_MOST_STEPS = 60


@dataclass(frozen=True)
class Complete(InContext):
    """`InContext`, then a reply head and a centre for the vectors; a part of the conversations tells whether it helped.

    ``interpolation`` is as far as the weights go at most: nothing, half of it and all of it are compared. ``epochs``
    are at most 60 steps, with which 3,000 conversations of ten messages are learned from about once. By default it runs
    in bfloat16 also on processors made for it.

    Attributes:
        held_out: Share of the sample that is not learned from (at least ten conversations).
        keep_anyway: Keep what was learned even if the conversations that were held out are no better for it.
    """

    learns_on: ClassVar[Literal["texts", "vectors", "both"]] = "both"
    merges_turns: ClassVar[bool] = False

    epochs: float = 5.0
    checkpoint_steps: int = 20
    held_out: float = 0.1
    keep_anyway: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.held_out <= 0.5:
            raise ValueError(f"held_out must be above 0 and at most 0.5, got {self.held_out!r}")
        if self.adaptation is not None:
            raise ValueError("adaptation goes before: run turnwise model adapt, and train the model that it writes")

    @property
    @override
    def stage(self) -> str:
        return "learning in context"

    def steps(self, messages: int) -> int:
        """How many steps to take with a number of messages."""
        return self.max_steps or min(_MOST_STEPS, math.ceil(self.epochs * messages / self.batch_size))
