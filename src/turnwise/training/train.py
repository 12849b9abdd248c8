"""Training an encoder on conversations: all steps from raw rows to a saved model."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from contextlib import nullcontext

from datasets import Dataset, IterableDataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator

import turnwise
from turnwise._utils.files import check_folder
from turnwise._utils.runs import RunFolder, process_state
from turnwise.data.fingerprint import fingerprint
from turnwise.data.reading.files import check_apart
from turnwise.data.reading.given import Given
from turnwise.encoders.conversation_encoder import ConversationEncoder
from turnwise.encoders.loading import as_encoder, encoder_source
from turnwise.training.adaptation import adapt_encoder
from turnwise.training.plan import Plan
from turnwise.training.precision import check_precision
from turnwise.training.recipes import Adaptation, Recipe, get_recipe
from turnwise.training.reply_head import plan_reply_head
from turnwise.training.saving import save_encoder
from turnwise.training.stages import plan_encoder


def train(
    recipe: Recipe | str,
    conversations: Given,
    encoder: SentenceTransformer | str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
    evaluator: BaseEvaluator | None = None,
) -> ConversationEncoder:
    """Train an encoder of utterances or whole dialogues on conversations, without labels.

    Args:
        recipe: The method and its settings, or its name in ``turnwise.training.recipes.METHODS``.
        conversations: What `turnwise.read_conversations` reads or gives. A reply head also learns from the file
            of vectors that ``turnwise embed`` wrote.
        encoder: The encoder to start from, or its name or path; ``None`` is the default encoder. One that is given is
            itself changed, and shares its weights with what is returned.
        output: A folder to write the model to, as a stock SentenceTransformer. Checkpoints are kept in
            ``<output>.run`` until it is written.
        resume: Continue the unfinished run of this output, if there is one.
        force: Overwrite the output, and forget an unfinished run.
        evaluator: Chooses the best step, such as `turnwise.evaluation.TaskEvaluator` on a validation set. It is called
            at every checkpoint and at the last step. Without it, the last step is taken.

    Returns:
        The trained encoder.

    Raises:
        FileExistsError: The output or an unfinished run exists, and neither ``resume`` nor ``force`` is given.
        BlockingIOError: Another process is writing this output.
        ValueError: A bad setting, too few conversations, an output among what is read, or an unfinished run with other
            settings.
    """
    if isinstance(recipe, str):
        recipe = get_recipe(recipe)
    _refuse_stream(conversations)
    if output is not None:
        check_apart(output, conversations)
        check_folder(output, force)  # before minutes of reading
    encoder = as_encoder(encoder)
    plan = _PLANS[recipe.learns_on](recipe, encoder, conversations, evaluator)
    settings = {
        "recipe": {"method": type(recipe).__name__, **dataclasses.asdict(recipe)},
        "conversations": plan.conversations,
        "encoder": encoder_source(encoder),
    }
    if evaluator is not None:
        settings["validation"] = {"evaluator": type(evaluator).__name__, **evaluator.get_config_dict()}
    with RunFolder.open(output, settings, resume, force) if output is not None else nullcontext() as run:
        encoder, history = plan.learn(run)
        if output is not None and run is not None and process_state().is_main_process:
            record = {"turnwise": turnwise.__version__, "level": recipe.level, **settings, **plan.kept, **history}
            save_encoder(encoder, output, record)
            run.close()
    return encoder


# What a recipe learns on -> its plan.
_PLANS: dict[str, Callable[..., Plan]] = {"texts": plan_encoder, "vectors": plan_reply_head}


def _refuse_stream(conversations: object) -> None:
    if isinstance(conversations, IterableDataset):
        raise ValueError(
            "a stream of conversations has neither a length to plan epochs by nor an order to resume in: train on one "
            "part of it after the other, see 'More data than the disk holds' in docs/training.md"
        )


def adapt_and_save(
    settings: Adaptation,
    conversations: Dataset,
    encoder: SentenceTransformer | str | os.PathLike[str] | None,
    output: str | os.PathLike[str],
    resume: bool = False,
    force: bool = False,
) -> ConversationEncoder:
    """Adapt an encoder by masked language modelling and write it; arguments and errors are those of `train`."""
    check_precision(settings)
    encoder = as_encoder(encoder)
    record = {
        "recipe": {"method": "masked language modelling", **dataclasses.asdict(settings)},
        "conversations": fingerprint(conversations),
        "encoder": encoder_source(encoder),
    }
    with RunFolder.open(check_folder(output, force), record, resume, force) as run:
        adapt_encoder(encoder, conversations, settings, run.folder / "adaptation")
        if process_state().is_main_process:
            save_encoder(encoder, output, {"turnwise": turnwise.__version__, **record})
            run.close()
    return encoder
