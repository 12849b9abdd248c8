"""The steps of the default training that read messages: before the encoder learns, and after it."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from turnwise.data.messages import Messages
from turnwise.training.recipes.in_context import InContext
from turnwise.training.run import Run, Step
from turnwise.training.state import TrainingState


@dataclass(frozen=True)
class ReadAlone(Step):
    """Embed all messages, each read alone, those held out first: ``alone``."""

    recipe: InContext
    name: str = "alone"

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        state.vectors["alone"] = self.recipe.alone(state.encoder, _all(state))


@dataclass(frozen=True)
class ReadInContext(Step):
    """Embed all messages in context, those held out first: ``in_context``."""

    recipe: InContext
    name: str = "in_context"

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        state.vectors["in_context"] = self.recipe.in_context(state.encoder, _all(state), state.vectors["alone"])


@dataclass(frozen=True)
class ReadLearned(Step):
    """Embed the messages that were learned from, as the encoder now reads them: ``learned``."""

    recipe: InContext
    name: str = "learned"

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        if state.record["learned"]:
            state.vectors["learned"] = self.recipe.alone(state.encoder, state.conversations["messages"][:])
        else:
            state.vectors["learned"] = state.vectors["alone"][len(state.vectors["held_out"]) :]


def _all(state: TrainingState) -> list[Messages]:
    held_out = state.held_out["messages"][:] if state.held_out is not None else []
    return [*held_out, *state.conversations["messages"][:]]
