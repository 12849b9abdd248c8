"""The steps of a training: learning, task vectors, vectors of messages, interpolation, projection, figures."""

from __future__ import annotations

import math
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sentence_transformers import SentenceTransformerTrainingArguments
from torch import Tensor
from transformers import set_seed
from typing_extensions import override

from turnlens._utils.vectors import FloatArray, bootstrap_interval
from turnlens.data.messages import Messages
from turnlens.encoders.context_projection import fit_context_projection
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.transformer import add_projection
from turnlens.training.callbacks import Snapshots
from turnlens.training.encoder_modes import (
    frozen_layers,
    frozen_lower_layers,
    learning_rows,
    no_attention_dropout,
    quicker_attention,
    recomputed_activations,
)
from turnlens.training.held_out import HeldOut, compare_figures
from turnlens.training.merging import interpolate_weights
from turnlens.training.onednn import transformer_through_onednn
from turnlens.training.run import Run, Step, TrainingState, count_messages
from turnlens.training.trainer import ConversationTrainer, fit, training_arguments, validation_arguments

if TYPE_CHECKING:
    from turnlens.training.recipes.in_context import InContext
    from turnlens.training.recipes.settings import Objective


# The processor time of steps for each message, in times of embedding it alone, measured on two cores.
_FORWARD_AND_BACK = 2.0
_IN_CONTEXT = 1.5
_WITH_GROUPS = 4.0  # embedded, and grouped by 80 halves


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
    def work(self, state: TrainingState) -> float:
        recipe, conversations = self.recipe, max(1, len(state.conversations))
        turns = count_messages(state.conversations) / conversations
        rows, size = (conversations * turns, 1.0) if recipe.rows_are_messages else (conversations, turns)
        steps = recipe.steps_for(math.ceil(rows), sys.maxsize)
        return _FORWARD_AND_BACK * steps * recipe.batch_size * recipe.gradient_accumulation_steps * size

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
            training_arguments(recipe, checkpoints) as arguments,
        ):
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
            fit(trainer, checkpoints, recipe.stage or type(recipe).__name__)
        interpolate_weights(encoder, before, recipe.interpolation)
        if not all(parameter.isfinite().all() for parameter in encoder.parameters()):
            raise ValueError("training has diverged, its weights are not finite: use a lower learning rate")
        encoder.eval()
        if self.validates:
            state.record |= _history(trainer)


def _history(trainer: ConversationTrainer) -> dict[str, Any]:
    """Return entries of the record: steps and losses and, with an evaluator, its figures."""
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


@dataclass(frozen=True)
class LearnTaskVector(Learn):
    """Train the encoder from its initial weights, keep the difference as a task vector, and restore the weights.

    `add_task_vectors` adds the task vectors of several steps, each with a share of its own (Ilharco et al., Editing
    Models with Task Arithmetic, ICLR 2023).
    """

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        start = initial_weights(state)
        state.encoder.load_state_dict(start)
        super().__call__(state, run)
        differences = {name: weight - start[name] for name, weight in state.encoder.state_dict().items()}
        state.task_vectors[self.name] = {name: weight for name, weight in differences.items() if weight.any()}
        state.encoder.load_state_dict(start)


def initial_weights(state: TrainingState) -> dict[str, Tensor]:
    """Return the weights before training, by the names they have in the encoder that learns."""
    initial = state.initial.state_dict()
    return {name: initial[name] for name in state.encoder.state_dict()}


def add_task_vectors(state: TrainingState, shares: dict[str, float]) -> ConversationEncoder:
    """Set the encoder to the initial weights plus a share of each step's task vector."""
    state.encoder.load_state_dict(initial_weights(state))
    weights = state.encoder.state_dict()
    for step, share in shares.items():
        for name, difference in state.task_vectors[step].items():
            weights[name].add_(difference, alpha=share)
    return state.encoder


@dataclass(frozen=True)
class EmbedMessages(Step):
    """Embed messages, and keep the vectors under the name of the step.

    Attributes:
        name: ``"alone"``: all messages, the held-out ones first, each read alone. ``"in_context"``: the same in
            context. ``"learned"``: the training messages, embedded after training.
        recipe: How messages are read.
    """

    name: Literal["alone", "in_context", "learned"]
    recipe: InContext

    @override
    def work(self, state: TrainingState) -> float:
        held = 0 if self.name == "learned" else count_messages(state.held_out)
        return (_IN_CONTEXT if self.name == "in_context" else 1) * (held + count_messages(state.conversations))

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        state.vectors[self.name] = self._vectors(state)

    def _vectors(self, state: TrainingState) -> FloatArray:
        conversations = state.conversations["messages"][:]
        if self.name == "learned":
            if not state.record["learned"]:  # the encoder is as it was
                return state.vectors["alone"][len(state.vectors["held_out"]) :]
            return self.recipe.alone(state.encoder, conversations)
        if state.held_out is not None:
            conversations = [*state.held_out["messages"][:], *conversations]
        if self.name == "alone":
            return self.recipe.alone(state.encoder, conversations)
        return self.recipe.in_context(state.encoder, conversations, state.vectors["alone"])


Shares = dict[str, float]  # of the task vector of each step


@dataclass(frozen=True)
class SelectInterpolation(Step):
    """Add to the initial weights the shares of the task vectors that are best on the held-out conversations.

    The best have the most stable groups. Nothing is added unless these are more stable by the 95 % intervals over
    conversations and over the draws of halves. If most conversations have two sides, it is enough that next messages
    gain by their interval and groups do not lose by theirs: groups of noisy messages are never stable, and the next
    message of another speaker is no repetition. The record holds the shares (``learned``, empty if none), and
    ``held_out`` are then the vectors of the held-out messages.

    Attributes:
        recipe: How messages are read.
        shares: The candidates.
        two_sides: Whether most conversations have two sides.
        keep_anyway: Add the best candidate even if held-out conversations do not gain.
    """

    recipe: InContext
    shares: list[Shares]
    two_sides: bool
    keep_anyway: bool
    name: str = "choice"

    @override
    def work(self, state: TrainingState) -> float:
        return _WITH_GROUPS * len(self.shares) * count_messages(state.held_out)

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        held, held_out = held_out_of(state)
        before = state.vectors["alone"][: len(held_out.text)]
        tried = []
        for shares in self.shares:
            vectors = self.recipe.alone(add_task_vectors(state, shares), held)
            tried.append((shares, vectors, held_out.stability(vectors)))
        learned, vectors, stability = max(tried, key=lambda option: option[2].mean())
        if not self.keep_anyway and not self._is_better(held_out, before, vectors, stability):
            learned, vectors = Shares(), before
        add_task_vectors(state, learned)
        state.record["learned"], state.vectors["held_out"] = learned, vectors
        state.task_vectors.clear()

    def _is_better(self, held_out: HeldOut, before: FloatArray, after: FloatArray, stability: FloatArray) -> bool:
        """Test whether the vectors of held-out messages gained, from their stability and next messages."""
        gain = stability - held_out.stability(before)  # (draws, conversations)
        lows, highs = zip(*(bootstrap_interval(gain.mean(axis)) for axis in (0, 1)))
        if min(lows) > 0:
            return True
        if not self.two_sides or max(highs) < 0:
            return False
        return bootstrap_interval(held_out.next_message(after) - held_out.next_message(before))[0] > 0


@dataclass(frozen=True)
class EvaluateOnHeldOut(Step):
    """Record the figures on held-out conversations, before training and after it."""

    name: str = "figures"

    @override
    def work(self, state: TrainingState) -> float:
        return _WITH_GROUPS * 2 * count_messages(state.held_out)

    @override
    def __call__(self, state: TrainingState, run: Run) -> None:
        held, held_out = held_out_of(state)
        before = held_out.figures(state.vectors["alone"][: len(held_out.text)])
        figures = compare_figures(before, held_out.figures(state.vectors["held_out"], state.encoder.reply_head))
        state.record["held_out"] = {"conversations": len(held), "messages": len(held_out.text), "figures": figures}


def held_out_of(state: TrainingState) -> tuple[list[Messages], HeldOut]:
    """Return the held-out conversations, and the figures of an encoder on them."""
    held: list[Messages] = [] if state.held_out is None else state.held_out["messages"][:]
    return held, HeldOut.of(held, state.vectors["in_context"][: sum(map(len, held))])


@dataclass(frozen=True)
class FitProjection(Step):
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
