"""The recipe of a training: a method with all its settings, and the steps that it takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from datasets import Dataset
from sentence_transformers.base.evaluation import BaseEvaluator
from typing_extensions import override

from turnlens._utils.registries import LevelName
from turnlens.data.fingerprint import fingerprint
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.folders import DEFAULT_ENCODER
from turnlens.training.learning import Learn
from turnlens.training.precision import runs_in_bf16
from turnlens.training.preparation import clean, frozen_layers
from turnlens.training.recipes.objective import Inputs, Objective
from turnlens.training.recipes.settings import Pace
from turnlens.training.run import Step
from turnlens.training.state import TrainingState

__all__ = ["EncoderRecipe", "Inputs", "Recipe"]


@dataclass(frozen=True)
class Recipe(Pace, ABC):
    """A method with all its settings: what `turnlens.train` takes."""

    level: ClassVar[LevelName] = "message"  # what the trained encoder embeds
    starts_from: ClassVar[str] = DEFAULT_ENCODER  # the encoder if none is given
    citation: ClassVar[str] = ""  # BibTeX of the paper that the method comes from
    one_process: ClassVar[bool] = False  # whether it cannot be shared among several

    def parsed(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Settings as files and options have them, with those of a step, which are a mapping there, as an object."""
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
        """The steps of this training, given the state in which it begins."""


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
        before = self.stage_before(state.given)
        learn_before = [] if before is None else [Learn(before, "before", validates=False)]
        return [*learn_before, Learn(self)]

    def stage_before(self, encoder: ConversationEncoder) -> Objective | None:
        """The method with which to train this encoder first, if any."""
        return None
