"""The default training: an encoder learns in context, head and centre are fitted, and held-out conversations judge it.

Messages are embedded once before and once after the encoder has learned. The former vectors teach it and are the
baseline of the figures; the latter are what the head, the centre and the figures are made of.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
from datasets import Dataset
from sentence_transformers.base.evaluation import BaseEvaluator
from torch import Tensor

from turnwise._utils.bootstrap import bootstrap_interval
from turnwise._utils.files import atomic_path
from turnwise._utils.runs import RunFolder, process_state
from turnwise._utils.vectors import FloatArray
from turnwise.data.conversations import read_conversations
from turnwise.data.drawing import draw_conversations
from turnwise.data.fingerprint import fingerprint
from turnwise.data.messages import Messages
from turnwise.data.reading.given import Given
from turnwise.encoders.conversation_encoder import ConversationEncoder
from turnwise.encoders.embed import messages_with_vectors
from turnwise.training.centre import CENTRE_SAMPLE, fit_centre
from turnwise.training.held_out import MAIN, STABILITY, HeldOut, compare_figures
from turnwise.training.interpolation import interpolate_weights
from turnwise.training.plan import Plan
from turnwise.training.precision import check_precision, made_for_bf16
from turnwise.training.preparation import clean, frozen_layers
from turnwise.training.recipes import Complete, ReplyHeadRecipe
from turnwise.training.reply_head import fit_reply_head
from turnwise.training.stages import contrast

FEWEST = 50  # conversations, below which there is nothing to learn for an encoder
_FEWEST_HELD_OUT = 10


def plan_complete(
    recipe: Complete, encoder: ConversationEncoder, conversations: Given, evaluator: BaseEvaluator | None
) -> Plan:
    """Plan the default training of an encoder, which is prepared for it in place; see `train`."""
    if process_state().num_processes > 1:
        raise ValueError("the default method runs in one process: give --method in-context to train in several")
    read = read_conversations(conversations)
    recipe.prepare(encoder)
    frozen = frozen_layers(recipe, encoder)
    check_precision(recipe)
    if recipe.bf16 is None:
        recipe = dataclasses.replace(recipe, bf16=made_for_bf16())
    cleaned, left_out = clean(read, recipe)
    if len(cleaned) < FEWEST:
        logging.getLogger("turnwise").warning(
            "%d conversations of two messages or more are too few to learn from (at least %d are needed): "
            "only a centre is fitted, and the encoder stays as it is",
            len(cleaned),
            FEWEST,
        )
        kept = {"kept": len(cleaned), "left_out": left_out}
        return Plan(fingerprint(cleaned), kept, lambda run: _only_centre(encoder, cleaned))
    sample = draw_conversations(cleaned, recipe.sample, recipe.seed)
    held_out = max(_FEWEST_HELD_OUT, round(recipe.held_out * len(sample)))
    # Those that are held out come first.
    sample = sample.select(np.random.default_rng(recipe.seed).permutation(len(sample)))
    left_out |= {"beyond the sample": len(cleaned) - len(sample), "held out": held_out}
    kept = {"kept": len(sample) - held_out, "left_out": {reason: count for reason, count in left_out.items() if count}}

    def learn(run: RunFolder | None) -> tuple[ConversationEncoder, dict[str, Any]]:
        return encoder, _learn(encoder, sample, held_out, recipe, frozen, evaluator, run)

    return Plan(fingerprint(sample), kept, learn)


def _only_centre(encoder: ConversationEncoder, conversations: Dataset) -> tuple[ConversationEncoder, dict[str, Any]]:
    fit_centre(encoder, conversations["messages"][:])
    return encoder, {}


def _learn(
    encoder: ConversationEncoder,
    sample: Dataset,
    count: int,
    recipe: Complete,
    frozen: int,
    evaluator: BaseEvaluator | None,
    run: RunFolder | None,
) -> dict[str, Any]:
    """Train encoder, head and centre in place; the first ``count`` conversations are held out.

    Returns:
        Entries of the training record: steps and losses, how far the weights went, and the figures before and after.
    """
    conversations: list[Messages] = sample["messages"][:]
    held, learned = conversations[:count], conversations[count:]
    first = sum(map(len, held))  # the first message that is learned from
    # The encoder has not learned yet, even if a run is continued, because its checkpoint is loaded later.
    vectors = _kept(run, "alone", lambda: recipe.alone(encoder, conversations))
    in_context = _kept(run, "in_context", lambda: recipe.in_context(encoder, conversations, vectors))
    held_out = HeldOut.of(held, in_context[:first])
    before = held_out.figures(vectors[:first])
    start = _weights(encoder)
    inputs = recipe.inputs_of(encoder, learned, in_context[first:])
    checkpoints, snapshots = (run.folder / "training", run.snapshots) if run is not None else (None, None)
    paced = dataclasses.replace(recipe, max_steps=recipe.steps(len(vectors) - first))
    history = contrast(encoder, sample, paced, frozen, checkpoints, snapshots, evaluator, inputs)

    share, of_held = _choose(encoder, start, recipe, held_out, held, vectors[:first])
    if share:
        of_learned = _kept(run, "learned", lambda: recipe.alone(encoder, learned))
        vectors = np.concatenate([of_held, of_learned])
    table = messages_with_vectors(sample.select(range(count, len(sample))), vectors[first:])
    encoder.reply_head, losses = fit_reply_head(table, ReplyHeadRecipe(seed=recipe.seed))
    for_centre = learned[:CENTRE_SAMPLE]
    fit_centre(encoder, for_centre, vectors[first : first + sum(map(len, for_centre))])
    figures = compare_figures(before, held_out.figures(vectors[:first], encoder.reply_head))
    judged = {"conversations": count, "messages": first, "figures": figures}
    return {**history, "learned": share, "reply_head": losses, "held_out": judged}


def _kept(run: RunFolder | None, name: str, make: Callable[[], FloatArray]) -> FloatArray:
    """Vectors that an earlier part of this run has made, or new ones, which the run keeps."""
    if run is None:
        return make()
    path = run.folder / f"{name}.npy"
    if not path.is_file():
        vectors = make()
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.save(file, vectors)
    return np.asarray(np.load(path))


def _choose(
    encoder: ConversationEncoder,
    start: dict[str, Tensor],
    recipe: Complete,
    held_out: HeldOut,
    held: list[Messages],
    vectors: FloatArray,
) -> tuple[float, FloatArray]:
    """Move the weights to the point between their start and their end that suits the held-out conversations best.

    They stay at their start unless the 95 % interval of the gain is above 0, and groups are at least as stable.

    Returns:
        How far they moved (0, 0.5 or 1), and the vectors of the held-out messages at that point.
    """
    trained = _weights(encoder)
    tried = {} if recipe.keep_anyway else {0.0: vectors}
    for share in (0.5, 1.0):
        _go(encoder, start, trained, share)
        tried[share] = recipe.alone(encoder, held)
    figures = {share: held_out.figures(vectors) for share, vectors in tried.items()}
    best = max(figures, key=lambda share: figures[share][MAIN].mean())
    if not recipe.keep_anyway:
        gains = {name: values - figures[0.0][name] for name, values in figures[best].items()}
        if bootstrap_interval(gains[MAIN])[0] <= 0 or gains[STABILITY].mean() < 0:
            best = 0.0  # a gain that may be chance, or at the cost of what tells messages apart
    _go(encoder, start, trained, best)
    return best, tried[best]


def _go(encoder: ConversationEncoder, start: dict[str, Tensor], trained: dict[str, Tensor], share: float) -> None:
    encoder.load_state_dict(trained)
    interpolate_weights(encoder, start, share)


def _weights(encoder: ConversationEncoder) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in encoder.state_dict().items()}
