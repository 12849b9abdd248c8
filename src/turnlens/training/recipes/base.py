"""The recipe of a training, a method with all its settings; recipes by name and from TOML files."""

from __future__ import annotations

import os
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

from datasets import Dataset
from sentence_transformers.base.evaluation import BaseEvaluator
from typing_extensions import override

from turnlens._utils.files import existing_file
from turnlens._utils.registries import METHODS, PUBLISHED, LevelName, check_method
from turnlens.data.dataset_operations import (
    drop_empty_messages,
    fingerprint,
    keep_long_enough,
    merge_consecutive_messages,
)
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.folders import DEFAULT_ENCODER
from turnlens.training.encoder_modes import frozen_layers, runs_in_bf16
from turnlens.training.recipes.settings import Inputs, Objective, Pace, replace_settings
from turnlens.training.run import Step, TrainingState
from turnlens.training.steps import Learn


def clean(conversations: Dataset, recipe: Objective) -> tuple[Dataset, dict[str, int]]:
    """Bring conversations into the form that a recipe expects: no empty messages, enough turns, alternating speakers.

    Returns:
        The conversations, and for each reason how many were left out.
    """
    counts = {"": len(conversations)}  # after each step, by what it leaves out
    conversations = drop_empty_messages(conversations.select_columns(["id", "messages"]))
    counts["without text"] = len(conversations)
    if recipe.merges_turns:
        conversations = merge_consecutive_messages(conversations)
    conversations = keep_long_enough(conversations, min_turns=recipe.shortest)
    counts[f"of fewer than {recipe.shortest} turns"] = len(conversations)
    if recipe.min_speakers > 1:
        conversations = conversations.filter(
            _have_speakers, input_columns="messages", batched=True, fn_kwargs={"n": recipe.min_speakers}
        )
        counts[f"of fewer than {recipe.min_speakers} speakers"] = len(conversations)
    if len(conversations) < 2:
        speakers = f" by {recipe.min_speakers} speakers" if recipe.min_speakers > 1 else ""
        raise ValueError(
            f"training needs at least 2 conversations of {recipe.shortest} turns or more{speakers}, "
            f"got {len(conversations)}"
        )
    steps = pairwise(counts.items())
    return conversations, {reason: before - after for (_, before), (reason, after) in steps if before > after}


def _have_speakers(batch: list[list[dict[str, Any]]], n: int) -> list[bool]:
    return [len({message["role"] for message in messages}) >= n for messages in batch]


__all__ = ["METHODS", "EncoderRecipe", "Inputs", "Recipe"]


@dataclass(frozen=True)
class Recipe(Pace, ABC):
    """A method with all its settings: what `turnlens.train` takes."""

    level: ClassVar[LevelName] = "message"  # what the trained encoder embeds
    starts_from: ClassVar[str] = DEFAULT_ENCODER  # the encoder if none is given
    citation: ClassVar[str] = ""  # BibTeX of the paper that the method comes from
    one_process: ClassVar[bool] = False  # whether it cannot be shared among several

    def parsed(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return settings from files and options, with mappings turned into the settings of their step."""
        return settings

    @abstractmethod
    def begin(
        self, conversations: Dataset | Path, encoder: ConversationEncoder, evaluator: BaseEvaluator | None
    ) -> TrainingState:
        """Check everything, before anything is written. Errors are those of `train`.

        Args:
            conversations: The conversations; for a reply head also a file of vectors.
            encoder: The encoder to start from, which stays as it is.
            evaluator: Chooses the best step, if given.
        """

    @abstractmethod
    def steps(self, state: TrainingState) -> Sequence[Step]:
        """Return the steps of this training from the state in which it begins."""


@dataclass(frozen=True)
class EncoderRecipe(Objective, Recipe):
    """The common part of all methods that train an encoder."""

    @override
    def begin(
        self, conversations: Dataset | Path, encoder: ConversationEncoder, evaluator: BaseEvaluator | None
    ) -> TrainingState:
        if isinstance(conversations, Path):
            raise ValueError(f"{conversations} holds vectors, which only a reply head learns from: give conversations")
        learning = encoder.clone()
        (self.stage_before(encoder) or self).prepare(learning)
        frozen_layers(self, learning)
        runs_in_bf16(self)  # refuses what would be slow
        cleaned, left_out = clean(conversations, self)
        record = {"kept": len(cleaned), "left_out": left_out}
        return TrainingState(encoder, learning, cleaned, fingerprint(cleaned), record, evaluator)

    @override
    def steps(self, state: TrainingState) -> Sequence[Step]:
        before = self.stage_before(state.initial)
        learn_before = [] if before is None else [Learn(before, "before", validates=False)]
        return [*learn_before, Learn(self)]

    def stage_before(self, encoder: ConversationEncoder) -> Objective | None:
        """Return the method with which to train this encoder first, if any."""
        return None


_PAPER = "paper"


def get_recipe(method: str, *, settings: Mapping[str, Any] | None = None, preset: str | None = None) -> Recipe:
    """The recipe of a method, with some settings changed.

    Args:
        method: A name in ``METHODS``.
        settings: Settings to change; those of a step, such as ``adaptation``, may themselves be a mapping.
        preset: ``"paper"`` for the settings of the method's paper; by default our own.

    Raises:
        ValueError: An unknown method, preset or setting, a value out of range, or the recipe of an extension that is
            no dataclass.

    Examples:
        >>> get_recipe("in-context", settings={"max_steps": 10}).max_steps
        10
    """
    method = check_method(method)
    if preset is not None and (preset != _PAPER or method not in PUBLISHED):
        raise ValueError(f"{method} has no preset {preset!r}: there is {_PAPER!r}, of {', '.join(PUBLISHED)}")
    kind: type[Recipe] = (METHODS if preset is None else PUBLISHED)[method]
    if "__dataclass_params__" not in vars(kind):  # silently, its defaults would be those of the class it extends
        raise ValueError(
            f"the recipe of {method} is no dataclass: put @dataclass(frozen=True) before {kind.__qualname__}"
        )
    recipe = kind()
    return replace_settings(recipe, recipe.parsed(settings or {}), method)


def read_recipe(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any], str | None]:
    """Read a recipe file: TOML with ``method = "…"``, settings of that method, and perhaps a table ``[adaptation]``.

    A line ``preset = "paper"`` starts from the settings of the paper.

    Returns:
        The method, the settings and the preset, for `get_recipe`.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is not TOML, or names no method.
    """
    path = existing_file(path, "a recipe, a TOML file with a line method = …")
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a TOML recipe: {error}") from error
    method = settings.pop("method", None)
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"{path}: expected a line method = one of {', '.join(map(repr, METHODS))}, got {method!r}")
    return method, settings, settings.pop("preset", None)
