"""A row of a paper's table: what is trained, one training after the other, and how the result is scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.papers.baselines import Learning, Need
from turnlens.papers.generated import GeneratedCandidates

PLANNING = "short-term-planning"  # the task that takes candidates


@dataclass(frozen=True)
class TaskFigures:
    """The figures of a method in a task.

    Attributes:
        summary: The task's figures, ready for JSON.
        per_query: The values of the main figure (queries,), under the task's key or, for a task with several ways of
            scoring, under ``"<key>/<mode>"``. Empty where single queries have no values.
    """

    summary: dict[str, Any]
    per_query: dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class ScoringInputs:
    """The inputs of scoring a method.

    Attributes:
        encoder: The encoder after the method's trainings.
        train: Conversations to learn from, as a ``datasets.Dataset``; None for methods that learn nothing.
        seed: Seed of what the method learns.
        word_vectors: A file of word vectors, or None.
        candidates: Gives the candidates of short-term planning; by default they are drawn from other conversations.
        start: The encoder that all trainings start from: a folder or a name, None is the default encoder.
    """

    encoder: ConversationEncoder
    train: Any
    seed: int
    word_vectors: str | None
    candidates: GeneratedCandidates | None = None
    start: str | None = None


Tasks = Mapping[str, Any]  # name -> from ``load_task``; the tasks of one level above utterances share theirs
Score = Callable[[ScoringInputs, Tasks], dict[str, TaskFigures]]


@dataclass(frozen=True)
class Stage:
    """One training of the encoder.

    Attributes:
        name: The name of a method, followed by ``:paper`` for the settings of its paper; ``"adapt"``, ``"adapt-paper"``
            or ``"simcse"``.
        settings: Settings that differ from the recipe.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)


def is_published(stage: str) -> bool:
    """Whether a training, by its stage's name, is as a paper has it, and so chooses its step on validation data."""
    return stage.endswith(":paper")


@dataclass(frozen=True)
class Method:
    """One row of a table. For a baseline of ``turnlens.papers.baselines``, ``baseline_row`` makes it.

    Attributes:
        name: Its name.
        title: Its name in the report.
        score: How it is scored on the tasks.
        stages: Trainings of the encoder, one after the other. Methods that share them share the trained model.
        learns: How ``score`` itself learns from the training conversations.
        tasks: The tasks it serves; None means all of its suite.
        needs: What else it needs; the user has to provide word vectors.
        model: A Hugging Face model of its own, a name or a folder.
        chosen_model: Whether the user has asked for that model. Models of tables are not downloaded by surprise.
        proposed: Whether the paper proposes it; the other methods are those it is compared with.
    """

    name: str
    title: str
    score: Score
    stages: tuple[Stage, ...] = ()
    learns: Learning = "nothing"
    tasks: tuple[str, ...] | None = None
    needs: Need = "nothing"
    model: str = ""
    chosen_model: bool = False
    proposed: bool = False

    @property
    def needs_conversations(self) -> bool:
        """Whether it learns from conversations."""
        return bool(self.stages) or self.learns != "nothing"

    @property
    def needs_seeds(self) -> bool:
        """Whether the seed changes its result."""
        return bool(self.stages) or self.learns == "randomly"
