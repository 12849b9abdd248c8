"""The settings of each method as frozen dataclasses, by name and from TOML files."""

from __future__ import annotations

import dataclasses
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import ContrastiveLoss
from torch import Tensor, nn

from turnwise.collators import UtteranceCollator
from turnwise.contexts import Context
from turnwise.conversation_collator import ConversationCollator
from turnwise.encoder import transformer_of
from turnwise.losses import c3l, ccl, dial2vec, dialogue_cse, siamese, single_vector
from turnwise.losses.c3l import C3LLoss, Positives
from turnwise.losses.ccl import CCLLoss
from turnwise.losses.dial2vec import Dial2vecLoss
from turnwise.losses.dialogue_cse import Aggregation, DialogueCSELoss
from turnwise.losses.in_batch import Negatives
from turnwise.losses.siamese import SiameseLoss
from turnwise.losses.single_vector import SingleVectorLoss
from turnwise.nli import CONVERSATIONS, PAIRS, MixedCollator, read_nli
from turnwise.recipe import Adaptation, Level, Recipe, Schedule
from turnwise.rendering import Keep, make_conversational
from turnwise.turn_order_collator import TurnOrderCollator
from turnwise.turn_tables import add_turn_tables, uses_turns
from turnwise.views import add_views, token_rows, views_of

__all__ = [
    "C3L",
    "CCL",
    "RECIPES",
    "Adaptation",
    "Dial2vec",
    "DialogueCSE",
    "Recipe",
    "Schedule",
    "Siamese",
    "SingleVector",
    "get_recipe",
    "read_recipe",
]


# Six times the paper's, for all that contrast responses alike: better on the default encoder, see docs/results.md.
_LEARNING_RATE = 3e-4


@dataclass(frozen=True)
class InBatch(Recipe):
    """What the methods share that contrast responses with those of the other conversations of the batch."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch_size < 2:
            raise ValueError("batch_size must be at least 2: the negatives of a response are other conversations'")

    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        return UtteranceCollator(encoder, max_length=self.max_length)


@dataclass(frozen=True)
class DialogueCSE(InBatch):
    """See :class:`turnwise.losses.dialogue_cse.DialogueCSELoss` for the settings."""

    learning_rate: float = _LEARNING_RATE
    context_turns: int = 3
    aggregation: Aggregation = "mean"
    temperature: float = 0.1
    negatives: Negatives = "batch"

    def __post_init__(self) -> None:
        super().__post_init__()
        dialogue_cse.check_settings(self.context_turns, self.aggregation, self.temperature, self.negatives)

    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        return DialogueCSELoss(encoder, self.context_turns, self.aggregation, self.temperature, self.negatives)


@dataclass(frozen=True)
class Siamese(InBatch):
    """See :class:`turnwise.losses.siamese.SiameseLoss`; ``context_turns`` is for ``context="multi"``."""

    learning_rate: float = _LEARNING_RATE
    context: Literal["single", "multi"] = "single"
    context_turns: int = 3
    negatives: Negatives = "batch"

    def __post_init__(self) -> None:
        super().__post_init__()
        siamese.check_settings(self.context, self.negatives)
        if self.context_turns < 1:
            raise ValueError(f"context_turns must be at least 1, got {self.context_turns!r}")

    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        joined = self.context_turns if self.context == "multi" else 0
        return UtteranceCollator(encoder, max_length=self.max_length, joined_context_turns=joined)

    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        return SiameseLoss(encoder, self.context, self.negatives)


@dataclass(frozen=True)
class SingleVector(InBatch):
    """See :class:`turnwise.losses.single_vector.SingleVectorLoss`.

    Attributes:
        context_turns: How many turns are joined into one text, at most.
    """

    learning_rate: float = _LEARNING_RATE
    context: Context = "joined"
    context_turns: int = 10
    temperature: float = 0.05
    negatives: Negatives = "batch"

    def __post_init__(self) -> None:
        super().__post_init__()
        single_vector.check_settings(self.context, self.temperature, self.negatives)
        if self.context_turns < 1:
            raise ValueError(f"context_turns must be at least 1, got {self.context_turns!r}")

    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        return UtteranceCollator(encoder, max_length=self.max_length, joined_context_turns=self.context_turns)

    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        return SingleVectorLoss(encoder, self.context, self.temperature, self.negatives)


@dataclass(frozen=True)
class Dial2vec(Recipe):
    """See :class:`turnwise.losses.dial2vec.Dial2vecLoss` and the collator for the settings (section 4.4).

    Attributes:
        separate_turns: Mark the end of every turn with the separator token.
        turn_inputs: Give the encoder turn tables (section 3.2.1), unless it has some; see :mod:`turnwise.turn_tables`.
    """

    level: ClassVar[Level] = "dialogue"
    min_speakers: ClassVar[int] = 2
    # With it, the attention of long rows takes a slow path that builds n x n matrices.
    attention_dropout: ClassVar[bool] = False

    # The paper: 1e-5 and 1. Here both what is learned and what the encoder knew come through, see docs/results.md.
    learning_rate: float = 1e-4
    trained_share: float = 0.5
    # Dialogues do not compete with each other, so one at a time gives the gradient of the paper's five in less memory.
    batch_size: int = 1
    accumulate: int = 5
    max_length: int = 512
    window: float = 10
    temperature: float = 0.2
    negatives_per_dialogue: int = 9
    keep: Keep = "head"
    separate_turns: bool = True
    turn_inputs: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        dial2vec.check_settings(self.window, self.temperature)

    def prepare(self, encoder: SentenceTransformer) -> None:
        super().prepare(encoder)
        make_conversational(encoder, self.max_length, self.separate_turns)
        if self.turn_inputs and not uses_turns(encoder):
            add_turn_tables(encoder)

    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        return ConversationCollator(
            encoder, conversations, self.negatives_per_dialogue, self.max_length, self.keep, self.seed
        )

    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        return Dial2vecLoss(encoder, self.window, self.temperature)


@dataclass(frozen=True)
class TurnOrder(Recipe):
    """What CCL and C3L share.

    Attributes:
        window: Consecutive utterances in a window; conversations of fewer turns are left out.
        negatives: Random negatives of each position, averaged (the paper: 1); ``"batch"`` for all there are.
        speakers: Whether before-views tell the candidate's speaker from the others; off for stories and documents.
        token_learning_rate: Peak learning rate of the embeddings of the prefix tokens. The other word embeddings stay.
        weight_decay: Of AdamW.
        nli: A file of natural language inference pairs, see :func:`turnwise.nli.read_nli`; their batches alternate
            with those of conversations.
    """

    level: ClassVar[Level] = "turn-order"

    # Ten times the paper's, and all negatives of a batch instead of one: see docs/results.md.
    learning_rate: float = 2e-4
    negatives: Negatives = "batch"
    frozen_layers: int | None = 0
    window: int = 5
    speakers: bool = True
    token_learning_rate: float = 1e-3
    weight_decay: float = 0.01
    nli: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.token_learning_rate > 0:
            raise ValueError(f"token_learning_rate must be a positive number, got {self.token_learning_rate!r}")
        if not 0 <= self.weight_decay < 1:
            raise ValueError(f"weight_decay must be at least 0 and below 1, got {self.weight_decay!r}")

    @property
    def shortest(self) -> int:
        return max(self.min_turns, self.window)

    def learning_rows(self, encoder: SentenceTransformer) -> list[int]:
        return token_rows(encoder)

    def arguments(self, encoder: SentenceTransformer) -> dict[str, Any]:
        words = transformer_of(encoder).get_input_embeddings().weight
        (name,) = (name for name, parameter in encoder.named_parameters() if parameter is words)
        return {
            "weight_decay": self.weight_decay,
            "learning_rate_mapping": {re.escape(name) + "$": self.token_learning_rate},
            "multi_dataset_batch_sampler": "round_robin",
        }

    def inputs(self, encoder: SentenceTransformer, conversations: Dataset) -> dict[str, Any]:
        inputs = super().inputs(encoder, conversations)
        if self.nli is None:
            return inputs
        return {
            "train_dataset": {CONVERSATIONS: conversations, PAIRS: read_nli(self.nli)},
            "data_collator": MixedCollator(encoder, inputs["data_collator"], self.max_length),
            "loss": {CONVERSATIONS: inputs["loss"], PAIRS: ContrastiveLoss(encoder)},
        }


@dataclass(frozen=True)
class CCL(TurnOrder):
    """See :class:`turnwise.losses.ccl.CCLLoss` for the settings."""

    directional: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        ccl.check_settings(self.window, self.negatives)

    def prepare(self, encoder: SentenceTransformer) -> None:
        super().prepare(encoder)
        add_views(encoder, "ccl", self.speakers)

    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        return TurnOrderCollator(encoder, self.window, self.max_length, self.directional)

    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        return CCLLoss(encoder, self.window, self.negatives, self.directional)


@dataclass(frozen=True)
class C3L(TurnOrder):
    """See :class:`turnwise.losses.c3l.C3LLoss` for the settings.

    Attributes:
        ccl_first: Train an encoder without views with CCL first, with the same settings; otherwise from scratch.
    """

    curved: bool = True
    directional: bool = False
    positives: Positives = "triple"
    ccl_first: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        c3l.check_settings(self.window, self.negatives, self.positives)

    def prepare(self, encoder: SentenceTransformer) -> None:
        super().prepare(encoder)
        add_views(encoder, "c3l", self.speakers)

    def stage_before(self, encoder: SentenceTransformer) -> Recipe | None:
        if not self.ccl_first or views_of(encoder) is not None:
            return None
        shared = {field.name: getattr(self, field.name) for field in dataclasses.fields(TurnOrder)}
        return CCL(**{**shared, "adaptation": None})

    def collator(self, encoder: SentenceTransformer, conversations: Dataset) -> Callable[..., dict[str, Tensor]]:
        return TurnOrderCollator(encoder, self.window, self.max_length, self.directional)

    def loss(self, encoder: SentenceTransformer) -> nn.Module:
        return C3LLoss(encoder, self.window, self.curved, self.negatives, self.directional, self.positives)


RECIPES: dict[str, Recipe] = {
    "dialogue-cse": DialogueCSE(),
    # Section 5.3; the paper's main results use 9 negatives (Table 4 against Table 2).
    "dialogue-cse-paper": DialogueCSE(
        learning_rate=5e-5, batch_size=20, max_length=50, negatives=9, min_turns=4, adaptation=Adaptation(max_length=50)
    ),
    "siamese-single": Siamese(context="single"),
    "siamese-multi": Siamese(context="multi"),
    "single-vector": SingleVector(),
    "dial2vec": Dial2vec(),
    "ccl": CCL(),
    "c3l": C3L(),
}


def get_recipe(method: str, settings: Mapping[str, Any] | None = None) -> Recipe:
    """The recipe of a method, with some settings changed.

    Args:
        method: A name in ``RECIPES``.
        settings: Settings to change; ``adaptation`` may itself be a mapping.

    Raises:
        ValueError: Unknown method, unknown setting, or a value out of range.
    """
    if method not in RECIPES:
        raise ValueError(f"unknown method {method!r}: expected one of {', '.join(RECIPES)}")
    recipe = RECIPES[method]
    settings = dict(settings or {})
    if isinstance(settings.get("adaptation"), Mapping):
        settings["adaptation"] = _replace(recipe.adaptation or Adaptation(), settings["adaptation"], "adaptation")
    return _replace(recipe, settings, method)


def read_recipe(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any]]:
    """Read a recipe file: TOML with ``method = "…"``, that method's settings, and perhaps a table ``[adaptation]``.

    Returns:
        The method and the settings, for :func:`get_recipe`.

    Raises:
        ValueError: Not TOML, or without a method.
    """
    path = Path(path)
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a TOML recipe: {error}") from error
    method = settings.pop("method", None)
    if method not in RECIPES:
        raise ValueError(f"{path}: expected a line method = one of {', '.join(map(repr, RECIPES))}, got {method!r}")
    return method, settings


def _replace(schedule: Any, settings: Mapping[str, Any], name: str) -> Any:
    known = [field.name for field in dataclasses.fields(schedule)]
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise ValueError(f"{name} has no setting {', '.join(map(repr, unknown))}: expected some of {', '.join(known)}")
    return dataclasses.replace(schedule, **settings)
