"""The stages of a training run: each either runs or is taken from an earlier part of the same run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from datasets import Dataset
from sentence_transformers import SentenceTransformerTrainingArguments
from sentence_transformers.base.evaluation import BaseEvaluator
from transformers import set_seed

from turnwise._utils.runs import RunFolder, process_state
from turnwise.data.conversations import read_conversations
from turnwise.data.fingerprint import fingerprint
from turnwise.data.reading.given import Given
from turnwise.encoders.conversation_encoder import ConversationEncoder
from turnwise.encoders.loading import load_encoder
from turnwise.encoders.onednn import transformer_through_onednn
from turnwise.training.adaptation import adapt_encoder
from turnwise.training.callbacks import Snapshots
from turnwise.training.freezing import frozen_lower_layers, learning_rows, no_attention_dropout
from turnwise.training.interpolation import interpolate_weights
from turnwise.training.plan import Plan
from turnwise.training.precision import check_precision, quicker_attention
from turnwise.training.preparation import clean, frozen_layers
from turnwise.training.recipes import EncoderRecipe, Inputs
from turnwise.training.recomputing import recomputed_activations
from turnwise.training.saving import save_encoder
from turnwise.training.trainer import ConversationTrainer, fit, training_arguments, validation_arguments


def plan_encoder(
    recipe: EncoderRecipe, encoder: ConversationEncoder, conversations: Given, evaluator: BaseEvaluator | None
) -> Plan:
    """Plan the training of an encoder, which is prepared for it in place; arguments and errors are those of `train`."""
    read = read_conversations(conversations)
    before = recipe.stage_before(encoder)
    (before or recipe).prepare(encoder)
    frozen = frozen_layers(recipe, encoder)
    check_precision(recipe, recipe.adaptation)
    cleaned, left_out = clean(read, recipe)

    def learn(run: RunFolder | None) -> tuple[ConversationEncoder, dict[str, Any]]:
        after = _stages_before(encoder, cleaned, recipe, before, frozen, run)
        checkpoints, snapshots = (run.folder / "training", run.snapshots) if run is not None else (None, None)
        return after, contrast(after, cleaned, recipe, frozen, checkpoints, snapshots, evaluator)

    return Plan(fingerprint(cleaned), {"kept": len(cleaned), "left_out": left_out}, learn)


def _stages_before(
    encoder: ConversationEncoder,
    conversations: Dataset,
    recipe: EncoderRecipe,
    stage: EncoderRecipe | None,
    frozen: int,
    run: RunFolder | None,
) -> ConversationEncoder:
    """The encoder after adaptation and after the method that comes first, if the recipe asks for these."""
    if recipe.adaptation is not None:
        adapt = partial(adapt_encoder, encoder, conversations, recipe.adaptation)
        encoder = finish_stage(encoder, "adaptation", adapt, run)
    if stage is not None:
        encoder = finish_stage(encoder, "before", partial(contrast, encoder, conversations, stage, frozen), run)
        recipe.prepare(encoder)
    return encoder


def finish_stage(
    encoder: ConversationEncoder, name: str, work: Callable[[Path | None], object], run: RunFolder | None
) -> ConversationEncoder:
    """Run a stage before the contrastive one, or load its result if an earlier part of this run has finished it.

    Args:
        encoder: The encoder; it may be changed.
        name: Name of the stage.
        work: The stage itself: a function that changes the encoder, given a folder for checkpoints.
        run: The run that keeps the result; without one, nothing is kept.

    Returns:
        The encoder after the stage.
    """
    if run is None:
        work(None)
        return encoder
    finished = run.folder / f"{name}.done"
    if finished.is_dir():
        return load_encoder(finished, device=str(encoder.device))
    work(run.folder / name)
    if process_state().is_main_process:
        save_encoder(encoder, finished, {})
    return encoder


def contrast(
    encoder: ConversationEncoder,
    conversations: Dataset,
    recipe: EncoderRecipe,
    frozen: int,
    checkpoints: Path | None,
    snapshots: Path | None = None,
    evaluator: BaseEvaluator | None = None,
    inputs: Inputs | None = None,
) -> dict[str, Any]:
    """The contrastive stage.

    Args:
        encoder: The encoder; it is changed in place.
        conversations: What it learns from.
        recipe: The method and its settings.
        frozen: How many of the lowest layers are frozen.
        checkpoints: A folder to write checkpoints to and to continue from.
        snapshots: A folder for models kept during training, if the recipe asks for them.
        evaluator: Chooses the best checkpoint; without it, the last step is taken.
        inputs: What the recipe makes of encoder and conversations, if it is there already.

    Returns:
        Entries of the training record, ready for JSON: the steps and their losses and, with an evaluator, the steps and
        their figures.

    Raises:
        ValueError: Training has diverged.
    """
    set_seed(recipe.seed)
    encoder.centre = {}  # training changes the vectors that it was fitted to
    before = {}
    if recipe.interpolation < 1:
        before = {name: tensor.detach().clone() for name, tensor in encoder.state_dict().items()}
    with (
        frozen_lower_layers(encoder, frozen),
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
        inputs = inputs or recipe.inputs(encoder, conversations)
        trainer = ConversationTrainer(
            model=encoder, args=SentenceTransformerTrainingArguments(**arguments), evaluator=evaluator, **inputs
        )
        trainer.decays_words = not recipe.learning_rows(encoder)
        if recipe.snapshots is not None and snapshots is not None:
            trainer.add_callback(Snapshots(snapshots, recipe.snapshots))
        fit(trainer, checkpoints, recipe.stage)
    interpolate_weights(encoder, before, recipe.interpolation)
    if not all(parameter.isfinite().all() for parameter in encoder.parameters()):
        raise ValueError("training has diverged, its weights are not finite: use a lower learning rate")
    encoder.eval()
    return _history(trainer)


def _history(trainer: ConversationTrainer) -> dict[str, Any]:
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
