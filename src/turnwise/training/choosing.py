"""The step that chooses how much of what an encoder has learned is kept, and the one that tells what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from typing_extensions import override

from turnwise._utils.bootstrap import bootstrap_interval
from turnwise.data.messages import Messages
from turnwise.encoders.conversation_encoder import ConversationEncoder
from turnwise.training.held_out import MAIN, STABILITY, HeldOut, compare_figures
from turnwise.training.interpolation import interpolate_weights
from turnwise.training.recipes.in_context import InContext
from turnwise.training.run import Run, Step
from turnwise.training.state import TrainingState


@dataclass(frozen=True)
class Choose(Step):
    """Move the weights to the point between their start and their end that suits the held-out conversations best.

    They stay at their start unless the 95 % interval of the gain is above 0, and groups are at least as stable. The
    record tells how far they moved (``learned``: 0, 0.5 or 1), and ``held_out`` are the vectors of the held-out
    messages at that point.

    Attributes:
        recipe: How messages are read.
        keep_anyway: Keep what was learned even if the held-out conversations are no better for it.
    """

    recipe: InContext
    keep_anyway: bool
    name: str = "choice"

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        encoder, (held, judge) = state.encoder, _held_out(state)
        start = {name: state.given.state_dict()[name] for name in encoder.state_dict()}
        trained = {name: tensor.detach().clone() for name, tensor in encoder.state_dict().items()}
        tried = {} if self.keep_anyway else {0.0: state.vectors["alone"][: len(judge.text)]}
        for share in (0.5, 1.0):
            _go(encoder, start, trained, share)
            tried[share] = self.recipe.alone(encoder, held)
        figures = {share: judge.figures(vectors) for share, vectors in tried.items()}
        best = max(figures, key=lambda share: figures[share][MAIN].mean())
        if not self.keep_anyway:
            gains = {name: values - figures[0.0][name] for name, values in figures[best].items()}
            if bootstrap_interval(gains[MAIN])[0] <= 0 or gains[STABILITY].mean() < 0:
                best = 0.0  # a gain that may be chance, or at the cost of what tells messages apart
        _go(encoder, start, trained, best)
        state.record["learned"], state.vectors["held_out"] = best, tried[best]


@dataclass(frozen=True)
class Judge(Step):
    """Put into the record how good the encoder and its head are on the held-out conversations, and how they were."""

    name: str = "figures"

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        held, judge = _held_out(state)
        before = judge.figures(state.vectors["alone"][: len(judge.text)])
        figures = compare_figures(before, judge.figures(state.vectors["held_out"], state.encoder.reply_head))
        state.record["held_out"] = {"conversations": len(held), "messages": len(judge.text), "figures": figures}


def _held_out(state: TrainingState) -> tuple[list[Messages], HeldOut]:
    """The held-out conversations, and what judges an encoder by its vectors of their messages."""
    held: list[Messages] = [] if state.held_out is None else state.held_out["messages"][:]
    return held, HeldOut.of(held, state.vectors["in_context"][: sum(map(len, held))])


def _go(encoder: ConversationEncoder, start: dict[str, Tensor], trained: dict[str, Tensor], share: float) -> None:
    encoder.load_state_dict(trained)
    interpolate_weights(encoder, start, share)
