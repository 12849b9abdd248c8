"""The step in which an encoder learns to project its vectors by what is said around messages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from turnlens.encoders.after_pooling import add_projection
from turnlens.encoders.context_projection import fit_context_projection
from turnlens.training.run import Run, Step
from turnlens.training.state import TrainingState


@dataclass(frozen=True)
class Project(Step):
    """Let the encoder project its vectors, as `turnlens.encoders.context_projection` describes.

    It is learned from the vectors that the encoder has after it has learned. The record tells whether there were
    messages enough (``projected``), and the vectors of messages that later steps need are projected, too.
    """

    name: str = "projection"

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        conversations = state.conversations["messages"][:]
        of = np.repeat(np.arange(len(conversations)), list(map(len, conversations)))
        projection = fit_context_projection(state.vectors["learned"], of, np.ones(len(of), bool))
        state.record["projected"] = projection is not None
        if projection is not None:
            add_projection(state.encoder, projection)
            for name in ("learned", "held_out"):
                state.vectors[name] = projection(state.vectors[name]).astype(np.float32)
