"""Training an encoder on conversations: all steps from raw rows to a saved model."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from datasets import IterableDataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator

from turnlens._utils.files import check_folder
from turnlens._utils.processes import process_state
from turnlens._utils.progress import note, phases
from turnlens._utils.registries import DEFAULT_METHOD, METHODS, PUBLISHED
from turnlens.data.conversation_source import ConversationSource
from turnlens.data.conversations import read_conversations
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.embed import holds_vectors
from turnlens.encoders.encoder import Encoder
from turnlens.encoders.loading import as_sentence_transformer, encoder_source
from turnlens.encoders.messages import encode_messages
from turnlens.formats.input_files import check_apart
from turnlens.training.model_card import TrainingReport, save_encoder
from turnlens.training.recipes import Recipe, get_recipe
from turnlens.training.run import Run, TrainingState


def train(
    data: ConversationSource,
    *,
    method: str | Recipe = DEFAULT_METHOD,
    settings: Mapping[str, Any] | None = None,
    preset: str | None = None,
    encoder: Encoder | SentenceTransformer | str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
    evaluator: BaseEvaluator | None = None,
) -> ConversationEncoder:
    """Train an encoder of messages or whole conversations on conversations, without labels.

    Args:
        data: The conversations: what `turnlens.read_conversations` reads or gives. A reply head also learns from the
            file of vectors that ``turnlens embed`` wrote.
        method: The name of the method, one of ``turnlens.training.recipes.METHODS``, or a recipe, which holds a method
            together with its settings. The default learns from context and from answers, as much of each as helps on
            conversations that were set aside, and fits a projection, a reply head and a centre.
        settings: The settings that differ from the method's own, by their names; a recipe has them already.
        preset: ``"paper"`` starts from the settings of the method's paper; a recipe has its own.
        encoder: The encoder to start from, or its name or path; ``None`` is the default encoder or, with the settings
            of a paper, ``sentence-transformers/all-MiniLM-L6-v2``, which has learned from no conversations. One that is
            given stays as it is.
        output: A folder to write the model to, as a stock SentenceTransformer. Checkpoints are kept in
            ``<output>.run`` until it is written.
        resume: Continue the unfinished run of this output, if there is one.
        force: Overwrite the output, and forget an unfinished run.
        evaluator: Chooses the best step, such as `turnlens.evaluation.TaskEvaluator` on a validation set. It is called
            at every checkpoint and at the last step. Without it, the last step is taken.

    Returns:
        The trained encoder, whose ``training_report`` shows how it compares with the one before: its ``before_after``
        has the figures. Only where no weights of it were trained, as for a reply head, it shares them with the one
        that was given.

    Raises:
        FileExistsError: The output or an unfinished run exists, and neither ``resume`` nor ``force`` is given.
        BlockingIOError: Another process is writing this output.
        ValueError: A bad setting, too few conversations, an output among what is read, or an unfinished run with other
            settings.

    Examples:
        >>> import turnlens
        >>> chats = turnlens.sample_conversations(6)
        >>> encoder = turnlens.train(chats, method="in-context", settings={"max_steps": 1, "batch_size": 4})
        >>> encoder.encode_messages(["Where is my parcel?"]).shape
        (1, 384)
    """
    recipe = _recipe(method, settings, preset)
    if isinstance(data, IterableDataset):
        raise ValueError(
            "a stream of conversations has neither a length to plan epochs by nor an order to resume in: train on one "
            "part of it after the other, see 'More data than the disk holds' in docs/training.md"
        )
    if output is not None:
        check_apart(output, data)
        check_folder(output, force)  # before minutes of reading
    if recipe.one_process and process_state().num_processes > 1:
        raise ValueError("this method runs in one process: start it without torchrun, or give --method in-context")
    given = as_sentence_transformer(recipe.starts_from if encoder is None else encoder)
    is_vectors = isinstance(data, str | os.PathLike) and holds_vectors(data)
    source = Path(str(data)) if is_vectors else read_conversations(data)
    state = recipe.begin(source, given, evaluator)
    kind = type(recipe)
    name = METHODS.name_of(kind) or PUBLISHED.name_of(kind) or kind.__name__
    of_recipe = {"method": name, **dataclasses.asdict(recipe)}
    settings = {"recipe": of_recipe, "conversations": state.source, "encoder": encoder_source(state.initial)}
    if evaluator is not None:
        settings["validation"] = {"evaluator": type(evaluator).__name__, **evaluator.get_config_dict()}
    with Run.open(output, settings, resume, force) as run:
        steps = recipe.steps(state)
        works = [0.0 if run.has_done(step) else step.work(state) for step in steps]
        is_main = process_state().is_main_process
        if is_main and any(works):
            _tell_how_long(state, sum(works))
        with phases(sum(works), show=is_main) as begin:
            for step, work in zip(steps, works):
                begin(work)
                state = run.once(step, state)
        if output is not None and process_state().is_main_process:
            told = {"level": recipe.level, "citation": recipe.citation, **settings, **state.record}
            save_encoder(state.encoder, output, told)
    state.encoder.training_report = TrainingReport(state.record)
    return state.encoder


def _tell_how_long(state: TrainingState, work: float) -> None:
    """Say about how long a training takes, by the time in which a few messages are embedded."""
    texts = list(islice((message["content"] for row in state.conversations for message in row["messages"]), 256))
    encode_messages(state.initial, texts[:1])
    began = time.monotonic()
    encode_messages(state.initial, texts)
    minutes = work / len(texts) * (time.monotonic() - began) / 60
    how_long = "less than a minute" if minutes < 1 else f"about {minutes:.0f} minute{'s' * (round(minutes) > 1)}"
    note(f"Training takes {how_long}.")


def _recipe(method: str | Recipe, settings: Mapping[str, Any] | None, preset: str | None) -> Recipe:
    if isinstance(method, str):
        return get_recipe(method, settings=settings, preset=preset)
    if settings is not None or preset is not None:
        raise ValueError(
            f"settings and preset belong to the name of a method, got a {type(method).__name__}, which has its "
            "settings: change them with dataclasses.replace(recipe, …)"
        )
    return method
