"""The step of the default training that reads messages, before the encoder learns and after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from typing_extensions import override

from turnlens._utils.vectors import FloatArray
from turnlens.training.recipes.in_context import InContext
from turnlens.training.run import Run, Step
from turnlens.training.state import TrainingState


@dataclass(frozen=True)
class Read(Step):
    """Embed messages, and keep the vectors under the name of the step.

    Attributes:
        name: ``"alone"``: all messages, those held out first, each read alone. ``"in_context"``: the same in context.
            ``"learned"``: those that were learned from, as the encoder reads them afterwards.
        recipe: How messages are read.
    """

    name: Literal["alone", "in_context", "learned"]
    recipe: InContext

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        state.vectors[self.name] = self._vectors(state)

    def _vectors(self, state: TrainingState) -> FloatArray:
        conversations = state.conversations["messages"][:]
        if self.name == "learned":
            if not state.record["learned"]:  # the encoder is as it was
                return state.vectors["alone"][len(state.vectors["held_out"]) :]
            return self.recipe.alone(state.encoder, conversations)
        if state.held_out is not None:
            conversations = [*state.held_out["messages"][:], *conversations]
        if self.name == "alone":
            return self.recipe.alone(state.encoder, conversations)
        return self.recipe.in_context(state.encoder, conversations, state.vectors["alone"])
