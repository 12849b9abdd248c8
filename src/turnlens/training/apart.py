"""The step in which an encoder learns one thing apart from what other steps teach it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from typing_extensions import override

from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.training.learning import Learn
from turnlens.training.run import Run
from turnlens.training.state import TrainingState


@dataclass(frozen=True)
class LearnApart(Learn):
    """Train the encoder from the weights that were given; keep the difference of the weights, and take it back.

    What several steps have learned in this way can be added up, each with a share of its own: `add_learned` (Ilharco et
    al., Editing Models with Task Arithmetic, ICLR 2023).
    """

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        start = given_weights(state)
        state.encoder.load_state_dict(start)
        super().__call__(state, run)
        differences = {name: weight - start[name] for name, weight in state.encoder.state_dict().items()}
        state.learned[self.name] = {name: weight for name, weight in differences.items() if weight.any()}
        state.encoder.load_state_dict(start)


def given_weights(state: TrainingState) -> dict[str, Tensor]:
    """The weights that the training started from, by the names they have in the encoder that learns."""
    given = state.given.state_dict()
    return {name: given[name] for name in state.encoder.state_dict()}


def add_learned(state: TrainingState, shares: dict[str, float]) -> ConversationEncoder:
    """Give the encoder the weights that the training started from, and a share of what each step has learned."""
    state.encoder.load_state_dict(given_weights(state))
    weights = state.encoder.state_dict()
    for step, share in shares.items():
        for name, difference in state.learned[step].items():
            weights[name].add_(difference, alpha=share)
    return state.encoder
