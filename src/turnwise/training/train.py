"""Training an encoder on conversations, from raw rows to a saved model."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from transformers import set_seed

import turnwise
from turnwise._utils.files import check_folder
from turnwise._utils.runs import Run, process_state
from turnwise.data.conversations import (
    drop_empty_messages,
    keep_long_enough,
    merge_consecutive_messages,
    read_conversations,
)
from turnwise.data.fingerprint import fingerprint
from turnwise.encoders.loading import encoder_source, load_encoder
from turnwise.encoders.transformer import transformer_layers
from turnwise.training.adaptation import adapt_encoder
from turnwise.training.callbacks import Snapshots
from turnwise.training.freezing import check_frozen_layers, frozen_lower_layers, learning_rows, no_attention_dropout
from turnwise.training.interpolation import interpolate_weights
from turnwise.training.recipes import Adaptation, Recipe, get_recipe
from turnwise.training.saving import save_encoder
from turnwise.training.trainer import ConversationTrainer, fit, training_arguments


def train(
    recipe: Recipe | str,
    conversations: Dataset | str | os.PathLike[str],
    encoder: SentenceTransformer | str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
) -> SentenceTransformer:
    """Train an encoder of utterances or whole dialogues on conversations, without labels.

    Args:
        recipe: The method and its settings, or its name in ``turnwise.training.recipes.RECIPES``.
        conversations: Conversations, see :func:`turnwise.read_conversations`, or the path of some.
        encoder: The encoder to start from (it may be changed), or its name or path; ``None`` is the default encoder.
        output: A folder to write the model to, as a stock SentenceTransformer. Checkpoints are kept in
            ``<output>.run`` until it is written.
        resume: Continue the unfinished run of this output, if there is one.
        force: Overwrite the output, and forget an unfinished run.

    Returns:
        The trained encoder.

    Raises:
        FileExistsError: The output or an unfinished run exists, and neither ``resume`` nor ``force`` is given.
        ValueError: A bad setting, too few conversations, or an unfinished run with other settings.
    """
    if isinstance(recipe, str):
        recipe = get_recipe(recipe)
    if output is not None:
        check_folder(output, force)  # before minutes of reading
    if not isinstance(conversations, Dataset):
        conversations = read_conversations(conversations)
    if not isinstance(encoder, SentenceTransformer):
        encoder = load_encoder(encoder)
    stage = recipe.stage_before(encoder)
    (stage or recipe).prepare(encoder)
    frozen = _frozen_layers(recipe, encoder)  # a wrong number is an error before anything is written
    conversations = _clean(conversations, recipe)
    settings = {
        "recipe": {"method": type(recipe).__name__, **dataclasses.asdict(recipe)},
        "conversations": fingerprint(conversations),
        "encoder": encoder_source(encoder),
    }
    with Run.open(output, settings, resume, force) if output is not None else nullcontext() as run:
        if recipe.adaptation is not None:
            adapt = partial(adapt_encoder, encoder, conversations, recipe.adaptation)
            encoder = _stage(encoder, "adaptation", adapt, run)
        if stage is not None:
            encoder = _stage(encoder, "before", partial(_contrast, encoder, conversations, stage, frozen), run)
            recipe.prepare(encoder)
        folders = (run.folder / "training", run.snapshots) if run is not None else (None, None)
        history = _contrast(encoder, conversations, recipe, frozen, *folders)
        if output is not None and run is not None and process_state().is_main_process:
            record = {"turnwise": turnwise.__version__, "level": recipe.level, **settings, "loss": history}
            save_encoder(encoder, output, record)
            run.close()
    return encoder


def adapt_and_save(
    settings: Adaptation,
    conversations: Dataset,
    encoder: SentenceTransformer | str | os.PathLike[str] | None,
    output: str | os.PathLike[str],
    resume: bool = False,
    force: bool = False,
) -> SentenceTransformer:
    """Adapt an encoder by masked language modelling and write it; arguments and errors as for :func:`train`."""
    if not isinstance(encoder, SentenceTransformer):
        encoder = load_encoder(encoder)
    record = {
        "recipe": {"method": "masked language modelling", **dataclasses.asdict(settings)},
        "conversations": fingerprint(conversations),
        "encoder": encoder_source(encoder),
    }
    with Run.open(check_folder(output, force), record, resume, force) as run:
        adapt_encoder(encoder, conversations, settings, run.folder / "adaptation")
        if process_state().is_main_process:
            save_encoder(encoder, output, {"turnwise": turnwise.__version__, **record})
            run.close()
    return encoder


def _frozen_layers(recipe: Recipe, encoder: SentenceTransformer) -> int:
    """How many layers do not learn: by default the lower half, as in the paper of DialogueCSE."""
    if recipe.frozen_layers == 0:
        return 0
    layers = len(transformer_layers(encoder))
    frozen = layers // 2 if recipe.frozen_layers is None else recipe.frozen_layers
    check_frozen_layers(frozen, layers)
    return frozen


def _clean(conversations: Dataset, recipe: Recipe) -> Dataset:
    """What the methods expect: non-empty messages, speakers that take turns, at least so many turns."""
    conversations = merge_consecutive_messages(drop_empty_messages(conversations.select_columns(["id", "messages"])))
    conversations = keep_long_enough(conversations, recipe.shortest)
    if recipe.min_speakers > 1:
        conversations = conversations.filter(
            _have_speakers, input_columns="messages", batched=True, fn_kwargs={"n": recipe.min_speakers}
        )
    if len(conversations) < 2:
        speakers = f" by {recipe.min_speakers} speakers" if recipe.min_speakers > 1 else ""
        raise ValueError(
            f"training needs at least 2 conversations of {recipe.shortest} turns or more{speakers}, "
            f"got {len(conversations)}"
        )
    return conversations


def _have_speakers(batch: list[list[dict[str, Any]]], n: int) -> list[bool]:
    return [len({message["role"] for message in messages}) >= n for messages in batch]


def _stage(
    encoder: SentenceTransformer, name: str, work: Callable[[Path | None], object], run: Run | None
) -> SentenceTransformer:
    """A stage before: ``work`` changes the encoder, with a folder for checkpoints; or what an earlier part of this run
    has finished."""
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


def _contrast(
    encoder: SentenceTransformer,
    conversations: Dataset,
    recipe: Recipe,
    frozen: int,
    checkpoints: Path | None,
    snapshots: Path | None = None,
) -> list[dict[str, float]]:
    """The contrastive stage; returns the steps and their losses."""
    set_seed(recipe.seed)
    before = {}
    if recipe.interpolation < 1:
        before = {name: tensor.detach().clone() for name, tensor in encoder.state_dict().items()}
    with (
        frozen_lower_layers(encoder, frozen),
        learning_rows(encoder, recipe.learning_rows(encoder)),
        nullcontext() if recipe.attention_dropout else no_attention_dropout(encoder),
        tempfile.TemporaryDirectory() as unused,
    ):
        arguments = training_arguments(recipe, checkpoints or Path(unused), save=checkpoints is not None)
        arguments |= {"logging_nan_inf_filter": False, **recipe.arguments(encoder)}
        inputs = recipe.inputs(encoder, conversations)
        trainer = ConversationTrainer(model=encoder, args=SentenceTransformerTrainingArguments(**arguments), **inputs)
        if recipe.snapshots is not None and snapshots is not None:
            trainer.add_callback(Snapshots(snapshots, recipe.snapshots))
        fit(trainer, checkpoints)
    interpolate_weights(encoder, before, recipe.interpolation)
    if not all(parameter.isfinite().all() for parameter in encoder.parameters()):
        raise ValueError("training has diverged, its weights are not finite: take a lower learning rate")
    encoder.eval()
    return [{"step": log["step"], "loss": log["loss"]} for log in trainer.state.log_history if "loss" in log]
