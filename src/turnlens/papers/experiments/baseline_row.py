"""Rows for the baselines of ``turnlens.papers.baselines``; its registry says what each needs, learns and serves."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from turnlens._utils.registries import LevelName
from turnlens.papers.baselines import BASELINES, build_baseline
from turnlens.papers.baselines.baseline import Output
from turnlens.papers.domain_categorization import CategorizationResult
from turnlens.papers.experiments.method import Method, ScoringInputs, Stage, TaskFigures, Tasks
from turnlens.papers.experiments.scoring import EVALUATION_SEED, conversation_figures, message_figures, task_figures

Build = Callable[..., Any]  # ``build_baseline`` with everything but the number of topics
ScoreBaseline = Callable[[Build, Any, Tasks], dict[str, TaskFigures]]


def baseline_row(
    baseline: str, level: LevelName, title: str, *, name: str = "", stages: tuple[Stage, ...] = (), model: str = ""
) -> Method:
    """The row of a baseline.

    Args:
        baseline: Its name in ``BASELINES``.
        level: What it embeds, ``"message"`` or ``"conversation"``.
        title: The row's name in the report.
        name: The row's name; by default the baseline's.
        stages: Trainings of the encoder that the baseline is then given.
        model: For the baseline ``"hf"``, the Hugging Face model: a name or a folder.
    """
    entry = BASELINES[baseline]
    score_as, tasks = _SCORING[level, entry.gives]

    def score(inputs: ScoringInputs, tasks: Tasks) -> dict[str, TaskFigures]:
        build = partial(
            build_baseline,
            baseline,
            level,
            encoder=inputs.encoder,
            word_vectors=inputs.word_vectors,
            model=model or None,
            seed=inputs.seed,
        )
        return score_as(build, inputs.train, tasks)

    return Method(name or baseline, title, score, stages, entry.learns, tasks, entry.needs, model)


def _embedded_utterances(build: Build, train: Any, tasks: Tasks) -> dict[str, TaskFigures]:
    return message_figures(build().fit(train).encode_messages, tasks)


def _embedded_dialogues(build: Build, train: Any, tasks: Tasks) -> dict[str, TaskFigures]:
    return conversation_figures(build().fit(train).encode_conversations, tasks)


def _ranked_utterances(build: Build, train: Any, tasks: Tasks) -> dict[str, TaskFigures]:
    ranking = build().fit(train)
    return {name: task_figures(name, ranking.score_retrieval(task, EVALUATION_SEED)) for name, task in tasks.items()}


def _ranked_dialogues(build: Build, train: Any, tasks: Tasks) -> dict[str, TaskFigures]:
    ranking = build().fit(train)
    return {
        name: task_figures(name, ranking.score_conversation_retrieval(task, EVALUATION_SEED))
        for name, task in tasks.items()
    }


def _clustered_dialogues(build: Build, train: Any, tasks: Tasks) -> dict[str, TaskFigures]:
    """Find as many clusters as there are labels, only once, because nothing random is left."""
    ((name, dialogues),) = tasks.items()
    model = build(topics=len(dialogues.labels)).fit(train)
    clusters = model.clusters(list(dialogues.conversations)).astype(np.int32)
    return {name: task_figures(name, CategorizationResult.of(dialogues, clusters[None]))}


# Level and what the baseline gives -> how that is scored, and which tasks it serves; None means all of the suite.
_SCORING: dict[tuple[LevelName, Output], tuple[ScoreBaseline, tuple[str, ...] | None]] = {
    ("message", "embeddings"): (_embedded_utterances, None),
    ("message", "rankings"): (_ranked_utterances, ("semantic-retrieval",)),
    ("conversation", "embeddings"): (_embedded_dialogues, None),
    ("conversation", "rankings"): (_ranked_dialogues, ("conversation-retrieval",)),
    ("conversation", "clusters"): (_clustered_dialogues, ("domain-categorization",)),
}
