"""The default recipe: an encoder learns from context and from answers, and keeps what helps.

Messages are embedded once before and once after the encoder has learned. The former vectors teach it and are the
baseline of the figures; the head, the centre and the figures are made of the latter.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from datasets import Dataset
from sentence_transformers.base.evaluation import BaseEvaluator
from typing_extensions import override

from turnlens.data.dataset_operations import draw_conversations, fingerprint
from turnlens.data.messages import Messages
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.training.centre import FitCentre
from turnlens.training.collators import TextCollator
from turnlens.training.encoder_modes import made_for_bf16
from turnlens.training.losses.base import CosineSettings
from turnlens.training.losses.in_context import RequestAnswerLoss
from turnlens.training.recipes.in_context import InContext
from turnlens.training.recipes.reply_head import ReplyHeadRecipe
from turnlens.training.recipes.settings import Inputs, Objective
from turnlens.training.reply_head import FitReplyHead
from turnlens.training.run import Step, TrainingState
from turnlens.training.steps import (
    EmbedMessages,
    EvaluateOnHeldOut,
    FitProjection,
    LearnTaskVector,
    SelectInterpolation,
)


@dataclass(frozen=True)
class RequestAnswer(Objective, CosineSettings):
    """Contrast the messages of the first speaker with those of the others; ``batch_size`` counts conversations."""

    stage: ClassVar[str] = "learning from answers"

    learning_rate: float = 1e-4
    batch_size: int = 96
    epochs: float = 4.0
    attention_dropout: bool = False

    @override
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        return {
            "train_dataset": Dataset.from_list([{"messages": pair} for pair in pairs_of(conversations)]),
            "data_collator": TextCollator(encoder, self.max_length),
            "loss": RequestAnswerLoss(encoder, CosineSettings.of(self)),
        }


def pairs_of(conversations: Dataset) -> list[Messages]:
    """Return, for each conversation of two sides, the joined texts of the first speaker and of the others."""
    pairs: list[Messages] = []
    for messages in conversations["messages"]:
        sides: tuple[list[str], list[str]] = ([], [])
        for message in messages:
            sides[message["role"] != messages[0]["role"]].append(message["content"])
        if all(sides):
            pairs.append([{"content": "\n".join(side)} for side in sides])
    return pairs


FEWEST = 50  # conversations, below which there is nothing to learn for an encoder
_FEWEST_HELD_OUT = 10
MOST_STEPS = 20
_SHARED = ("max_steps", "max_length", "temperature", "seed", "recompute")  # by learning in context and from answers


@dataclass(frozen=True)
class Complete(InContext):
    """`InContext` and `RequestAnswer`, each as a task vector, then a reply head and a centre for the vectors.

    Held-out conversations select the interpolation: the share of each task vector that is added to the weights, if any.
    ``epochs`` are at most 20 steps. ``max_steps``, ``max_length`` and ``temperature`` are those of each; batch size and
    learning rate are those of learning in context. By default it runs in bfloat16 also on processors made for it.

    Attributes:
        held_out: Share of the sample that is not learned from (at least ten conversations).
        keep_anyway: Keep what was learned even if the conversations that were held out are no better for it.

    Examples:
        >>> Complete(max_steps=10, keep_anyway=True).held_out
        0.1
    """

    one_process: ClassVar[bool] = True
    merges_turns: ClassVar[bool] = False
    stage: ClassVar[str] = "learning in context"

    batch_size: int = 256
    epochs: float = 5.0
    checkpoint_steps: int = 20
    held_out: float = 0.1
    keep_anyway: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.held_out <= 0.5:
            raise ValueError(f"held_out must be above 0 and at most 0.5, got {self.held_out!r}")

    @override
    def begin(
        self, conversations: Dataset | Path, encoder: ConversationEncoder, evaluator: BaseEvaluator | None
    ) -> TrainingState:
        state = super().begin(conversations, encoder, evaluator)
        cleaned = state.conversations
        if len(cleaned) < FEWEST:
            logging.getLogger("turnlens").warning(
                "%d conversations of two messages or more are too few to learn from (at least %d are needed): "
                "only a centre is fitted, and the encoder stays as it is",
                len(cleaned),
                FEWEST,
            )
            return state
        sample = draw_conversations(cleaned, self.sample, self.seed)
        count = max(_FEWEST_HELD_OUT, round(self.held_out * len(sample)))
        sample = sample.select(np.random.default_rng(self.seed).permutation(len(sample)))
        state.source = fingerprint(sample)
        state.held_out, state.conversations = sample.select(range(count)), sample.select(range(count, len(sample)))
        left_out = state.record["left_out"] | {"beyond the sample": len(cleaned) - len(sample), "held out": count}
        kept = {reason: number for reason, number in left_out.items() if number}
        state.record = {"kept": len(state.conversations), "left_out": kept}
        return state

    @override
    def steps(self, state: TrainingState) -> Sequence[Step]:
        if state.held_out is None:
            return [FitCentre()]
        bf16 = made_for_bf16() if self.bf16 is None else self.bf16
        conversations = state.conversations["messages"][:]
        paced = dataclasses.replace(self, bf16=bf16, max_steps=self.steps_for(sum(map(len, conversations)), MOST_STEPS))
        learning, shares = [LearnTaskVector(paced, "context")], [{"context": 0.5}, {"context": 1.0}]
        pairs = sum(len({message["role"] for message in messages}) > 1 for messages in conversations)
        if two_sides := 2 * pairs > len(conversations):
            shared = {name: getattr(self, name) for name in _SHARED}
            answers = RequestAnswer(bf16=bf16, **shared)
            answers = dataclasses.replace(answers, max_steps=answers.steps_for(pairs, MOST_STEPS))
            learning.append(LearnTaskVector(answers, "answers", validates=False))
            shares += [{"context": 0.5, "answers": 0.25}, {"context": 1.0, "answers": 0.5}]
        return [
            EmbedMessages("alone", paced),
            EmbedMessages("in_context", paced),
            *learning,
            SelectInterpolation(paced, shares, two_sides, self.keep_anyway),
            EmbedMessages("learned", paced),
            *([FitProjection()] if two_sides else []),
            FitReplyHead(ReplyHeadRecipe(seed=self.seed), "reply_head"),
            FitCentre(),
            EvaluateOnHeldOut(),
        ]

    @override
    def inputs_from(self, state: TrainingState) -> Inputs:
        conversations = state.conversations["messages"][:]
        in_context = state.vectors["in_context"][-sum(map(len, conversations)) :]
        return self.inputs_of(state.encoder, conversations, in_context)
