"""Scoring of rows: baselines, and the encoder's own embeddings of utterances, dialogues and the order of turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer
from typing_extensions import override

from turnlens._utils.registries import LevelName
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.messages import encode_messages
from turnlens.evaluation import TASKS, embed_labelled
from turnlens.evaluation.ranking_metrics import on_grid
from turnlens.papers.baselines import BASELINES, MeanOfUtterances, build_baseline
from turnlens.papers.baselines.convert import ConveRT, ConveRTSettings
from turnlens.papers.domain_categorization import CategorizationResult
from turnlens.papers.experiments.suite import Method, Score, Stage
from turnlens.papers.generation import GeneratedCandidates
from turnlens.papers.next_message.modes import Modes, Scorer
from turnlens.papers.next_message.next_message import evaluate_next_message, rank_next_messages
from turnlens.papers.next_message.sequences import Depth, EmbeddedSequences

PLANNING = "short-term-planning"  # the task that takes candidates
# All rows are measured on the same queries, candidates and clusterings, so that they can be compared in pairs.
EVALUATION_SEED = 0
Tasks = Mapping[str, Any]  # name -> from ``load_task``; the tasks of one level above utterances share theirs


@dataclass(frozen=True)
class TaskFigures:
    """A row's figures in a task: a summary for JSON, and the main figure of each query, if it has one.

    The latter by the task's key or, for a task with several ways of scoring, by ``"<key>/<mode>"``.
    """

    summary: dict[str, Any]
    per_query: dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class ScoringInputs:
    """The encoder after a row's trainings, the conversations to learn from, if any, and what the user provides."""

    encoder: ConversationEncoder
    train: Any
    seed: int
    word_vectors: str | None
    candidates: GeneratedCandidates | None = None  # of short-term planning; None draws them from conversations


Figures = dict[str, TaskFigures]  # by task


def _figures(name: str, result: Any) -> TaskFigures:
    values = getattr(result, "per_query", None)
    return TaskFigures(result.summary(), {} if values is None else {TASKS[name].key: values})


def _figures_of_modes(name: str, result: Any) -> TaskFigures:
    values = {f"{TASKS[name].key}/{mode}": scores.per_query for mode, scores in result.modes.items()}
    return TaskFigures(result.summary(), values)


# --- Utterances


def _of_messages(encode: Callable[[list[str]], Any], tasks: Tasks) -> Figures:
    return {name: _figures(name, TASKS[name].score(encode, task, EVALUATION_SEED)) for name, task in tasks.items()}


def as_trained(inputs: ScoringInputs, tasks: Tasks) -> Figures:
    """Score the encoder's own embeddings of sentences."""
    return _of_messages(partial(encode_messages, inputs.encoder, show_progress_bar=True), tasks)


def character_ngrams(inputs: ScoringInputs, tasks: Tasks) -> Figures:
    """Score one to three characters, hashed, which need no training and work in any language."""
    hashed = HashingVectorizer(analyzer="char_wb", ngram_range=(1, 3), n_features=4096)
    return _of_messages(lambda texts: hashed.transform(texts).toarray(), tasks)


# --- Whole dialogues


def _of_conversations(encode: Callable[[list[Any]], Any], tasks: Tasks) -> Figures:
    """Embed each conversation once for all tasks."""
    embedded = embed_labelled(encode, next(iter(tasks.values())))
    return {name: _figures(name, TASKS[name].measure(embedded, EVALUATION_SEED)) for name in tasks}


def whole_dialogue(pooling: str) -> Score:
    """Score all turns through the encoder at once, see `turnlens.ConversationEncoder.encode_conversations`."""
    return lambda inputs, tasks: _of_conversations(
        partial(inputs.encoder.encode_conversations, pooling=pooling, show_progress_bar=True), tasks
    )


def one_interlocutor(first: bool) -> Score:
    """Encode all turns, and pool over those of the speaker who starts the conversation, or over those of all others.

    A conversation without other speakers has a vector of zeros, which is equally far from all others.
    """

    def score(inputs: ScoringInputs, tasks: Tasks) -> Figures:
        def embed(conversations: list[Any]) -> Any:
            pooling = "speaker:first" if first else "speaker:other"
            renamed = [_first_and_other(messages) for messages in conversations]
            return inputs.encoder.encode_conversations(renamed, pooling=pooling, show_progress_bar=True, absent="zero")

        return _of_conversations(embed, tasks)

    return score


def _first_and_other(messages: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    start = messages[0]["role"]
    return [{**message, "role": "first" if message["role"] == start else "other"} for message in messages]


def mean_of_utterances(inputs: ScoringInputs, tasks: Tasks) -> Figures:
    """Score the mean of the encoder's own embeddings of the utterances."""
    own: Any = SimpleNamespace(encode_messages=partial(encode_messages, inputs.encoder, show_progress_bar=True))
    return _of_conversations(MeanOfUtterances(own).encode_conversations, tasks)


# --- The order of turns


def turn_order(*modes: str) -> Score:
    """Score next utterances in these modes, and the other tasks in all modes that the encoder supports."""

    def score(inputs: ScoringInputs, tasks: Tasks) -> Figures:
        embedded = EmbeddedSequences(inputs.encoder, next(iter(tasks.values())))
        figures = {}
        for name in tasks:
            if name == "next-message":
                result: Any = evaluate_next_message(embedded, EVALUATION_SEED, modes)
            else:
                further = {"candidates": inputs.candidates} if name == PLANNING else {}
                result = TASKS[name].measure(embedded, EVALUATION_SEED, **further)
            figures[name] = _figures_of_modes(name, result)
        return figures

    return score


class _ConveRTModes(Modes):
    """Contexts and replies through the towers of a ConveRT that has learned."""

    def __init__(self, embedded: EmbeddedSequences, network: ConveRT) -> None:
        super().__init__(embedded)
        self.network = network

    @override
    def prepare(self, depths: Sequence[Depth], names: Sequence[str]) -> None:
        """Depths share nothing."""

    @override
    def candidates(self, text: Any) -> Any:
        return self.network.encode_replies([self.embedded.sequences.texts[index] for index in text])

    @override
    def contexts(self, conversations: Any, turn: int) -> Any:
        turns = self.embedded.sequences.text[conversations, :turn]
        return self.network.encode_contexts([[self.embedded.sequences.texts[index] for index in row] for row in turns])

    @override
    def scorer(self, name: str, depth: Depth, units: Any) -> Scorer:
        grid = on_grid(units).T
        return lambda block, contexts: on_grid(contexts) @ grid


def convert(epochs: int = ConveRTSettings.epochs) -> Score:
    """Score next messages by a small ConveRT that learns from scratch."""

    def score(inputs: ScoringInputs, tasks: Tasks) -> Figures:
        network = ConveRT(ConveRTSettings(seed=inputs.seed, epochs=epochs)).fit(inputs.train)
        figures = {}
        for name, sequences in tasks.items():
            modes = _ConveRTModes(EmbeddedSequences(inputs.encoder, sequences), network)
            figures[name] = _figures_of_modes(name, rank_next_messages(modes, ("convert",), EVALUATION_SEED))
        return figures

    return score


# --- Baselines


def baseline_row(
    baseline: str, level: LevelName, title: str, *, name: str = "", stages: tuple[Stage, ...] = (), model: str = ""
) -> Method:
    """Return the row of a baseline of ``BASELINES``, which says what it needs, learns and serves.

    Args:
        baseline: Its name.
        level: What it embeds, ``"message"`` or ``"conversation"``.
        title: The row's name in the report.
        name: The row's name; by default the baseline's.
        stages: Trainings of the encoder that the baseline is then given.
        model: For the baseline ``"hf"``, the Hugging Face model: a name or a folder.
    """
    entry = BASELINES[baseline]
    retrieval = "semantic-retrieval" if level == "message" else "conversation-retrieval"
    served = {"embeddings": None, "rankings": (retrieval,), "clusters": ("domain-categorization",)}

    def score(inputs: ScoringInputs, tasks: Tasks) -> Figures:
        ((first, data), *_) = tasks.items()
        topics: dict[str, Any] = {"topics": len(data.labels)} if entry.gives == "clusters" else {}
        given = {"encoder": inputs.encoder, "word_vectors": inputs.word_vectors, "model": model or None, **topics}
        fitted = build_baseline(baseline, level, seed=inputs.seed, **given).fit(inputs.train)
        if entry.gives == "clusters":  # found only once, because nothing random is left
            clusters = fitted.clusters(list(data.conversations)).astype(np.int32)
            return {first: _figures(first, CategorizationResult.of(data, clusters[None]))}
        if entry.gives == "rankings":
            rank = fitted.score_retrieval if level == "message" else fitted.score_conversation_retrieval
            return {name: _figures(name, rank(task, EVALUATION_SEED)) for name, task in tasks.items()}
        if level == "message":
            return _of_messages(fitted.encode_messages, tasks)
        return _of_conversations(fitted.encode_conversations, tasks)

    return Method(name or baseline, title, score, stages, entry.learns, served[entry.gives], entry.needs, model)


def hugging_face_row(name: str, model: str, level: LevelName) -> Method:
    """Return the row of a Hugging Face model that the user chose."""
    return replace(baseline_row("hf", level, f"{model}, mean of tokens", name=name, model=model), chosen=True)
