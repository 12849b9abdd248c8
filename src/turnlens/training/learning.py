"""The step in which an encoder learns by the objective of a method."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformerTrainingArguments
from transformers import set_seed
from typing_extensions import override

from turnlens.encoders.onednn import transformer_through_onednn
from turnlens.training.callbacks import Snapshots
from turnlens.training.freezing import frozen_lower_layers, learning_rows, no_attention_dropout
from turnlens.training.interpolation import interpolate_weights
from turnlens.training.precision import quicker_attention
from turnlens.training.preparation import frozen_layers
from turnlens.training.recipes.objective import Objective
from turnlens.training.recomputing import recomputed_activations
from turnlens.training.run import Run, Step
from turnlens.training.state import TrainingState
from turnlens.training.trainer import ConversationTrainer, fit, training_arguments, validation_arguments


@dataclass(frozen=True)
class Learn(Step):
    """Train the encoder, and put its steps and losses into the record.

    Attributes:
        recipe: The method and its settings.
        name: The name of the step, and of the folder of its checkpoints.
        validates: Whether the evaluator, if any, chooses the best checkpoint, and the record tells of the step.

    Raises:
        ValueError: Training has diverged.
    """

    recipe: Objective
    name: str = "training"
    validates: bool = True

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        recipe, encoder, checkpoints = self.recipe, state.encoder, run.unfinished(self.name)
        evaluator = state.evaluator if self.validates else None
        recipe.prepare(encoder)
        set_seed(recipe.seed)
        encoder.centre = {}  # training changes the vectors that it was fitted to
        before = {}
        if recipe.interpolation < 1:
            before = {name: tensor.detach().clone() for name, tensor in encoder.state_dict().items()}
        with (
            frozen_lower_layers(encoder, frozen_layers(recipe, encoder)),
            learning_rows(encoder, recipe.learning_rows(encoder)),
            nullcontext() if recipe.attention_dropout else no_attention_dropout(encoder),
            transformer_through_onednn(encoder),
            quicker_attention(encoder, recipe),
            recomputed_activations(encoder, recipe.recompute),
            tempfile.TemporaryDirectory() as unused,
        ):
            arguments = training_arguments(recipe, checkpoints or Path(unused), save=checkpoints is not None)
            arguments |= {"logging_nan_inf_filter": False, **recipe.arguments(encoder)}
            if evaluator is not None:
                arguments |= validation_arguments(evaluator, recipe)
            trainer = ConversationTrainer(
                model=encoder,
                args=SentenceTransformerTrainingArguments(**arguments),
                evaluator=evaluator,
                **recipe.inputs_from(state),
            )
            trainer.decays_words = not recipe.learning_rows(encoder)
            if recipe.snapshots is not None and run.snapshots is not None:
                trainer.add_callback(Snapshots(run.snapshots, recipe.snapshots))
            fit(trainer, checkpoints, recipe.stage)
        interpolate_weights(encoder, before, recipe.interpolation)
        if not all(parameter.isfinite().all() for parameter in encoder.parameters()):
            raise ValueError("training has diverged, its weights are not finite: use a lower learning rate")
        encoder.eval()
        if self.validates:
            state.record |= _history(trainer)


def _history(trainer: ConversationTrainer) -> dict[str, Any]:
    """Entries of the record: the steps and their losses and, with an evaluator, the steps and their figures."""
    logs, best = trainer.state.log_history, trainer.args.metric_for_best_model
    losses = [{"step": log["step"], "loss": log["loss"]} for log in logs if "loss" in log]
    history: dict[str, Any] = {"steps": trainer.state.global_step, "loss": losses}
    if best is not None:
        history["evaluations"] = {
            "metric": best.removeprefix("eval_"),
            "best": trainer.state.best_metric,
            "steps": [{"step": log["step"], "value": log[best]} for log in logs if best in log],
        }
    return history
