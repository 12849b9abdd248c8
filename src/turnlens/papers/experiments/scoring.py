"""How rows are scored: the encoder's own embeddings of utterances, of whole dialogues, and of the order of turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from sentence_transformers import SentenceTransformer
from sklearn.feature_extraction.text import HashingVectorizer
from typing_extensions import override

from turnlens.encoders.messages import encode_messages
from turnlens.evaluation import TASKS, embed_labelled
from turnlens.evaluation.exact_ranking import on_grid
from turnlens.papers.baselines import MeanOfUtterances
from turnlens.papers.baselines.convert import ConveRT, ConveRTSettings
from turnlens.papers.experiments.method import PLANNING, Score, ScoringInputs, TaskFigures, Tasks
from turnlens.papers.next_message.modes import Modes, Scorer
from turnlens.papers.next_message.next_message import evaluate_next_message, rank_next_messages
from turnlens.papers.next_message.sequences import Depth, EmbeddedSequences

_RETRIEVAL = "semantic-retrieval"
_COMPARED = 1000  # texts: half a million pairs

# All methods are measured on the same queries, candidates and clusterings, so that they can be compared in pairs.
EVALUATION_SEED = 0


def task_figures(name: str, result: Any) -> TaskFigures:
    """The figures of a task on utterances or dialogues.

    Args:
        name: The task.
        result: What the task's evaluation returned.
    """
    values = getattr(result, "per_query", None)
    return TaskFigures(result.summary(), {} if values is None else {TASKS[name].key: values})


# --- Utterances


def message_figures(encode: Callable[[list[str]], Any], tasks: Tasks) -> dict[str, TaskFigures]:
    """The figures of a function that embeds texts."""
    return {name: task_figures(name, TASKS[name].score(encode, task, EVALUATION_SEED)) for name, task in tasks.items()}


def as_trained(inputs: ScoringInputs, tasks: Tasks) -> dict[str, TaskFigures]:
    """The encoder's own sentence embeddings."""
    return message_figures(partial(encode_messages, inputs.encoder, show_progress_bar=True), tasks)


def character_ngrams(inputs: ScoringInputs, tasks: Tasks) -> dict[str, TaskFigures]:
    """One to three characters, hashed: needs no training and works in any language."""
    hashed = HashingVectorizer(analyzer="char_wb", ngram_range=(1, 3), n_features=4096)
    return message_figures(lambda texts: hashed.transform(texts).toarray(), tasks)


# --- Whole dialogues


def conversation_figures(encode: Callable[[list[Any]], Any], tasks: Tasks) -> dict[str, TaskFigures]:
    """The figures of a function that embeds whole conversations; each is embedded once for all tasks."""
    embedded = embed_labelled(encode, next(iter(tasks.values())))
    return {name: task_figures(name, TASKS[name].measure(embedded, EVALUATION_SEED)) for name in tasks}


def whole_dialogue(pooling: str) -> Score:
    """All turns through the encoder at once, see `turnlens.ConversationEncoder.encode_conversations`."""

    def score(inputs: ScoringInputs, tasks: Tasks) -> dict[str, TaskFigures]:
        embed = partial(inputs.encoder.encode_conversations, pooling=pooling, show_progress_bar=True)
        return conversation_figures(embed, tasks)

    return score


def one_interlocutor(first: bool) -> Score:
    """Encode all turns, and pool over those of the speaker who starts the conversation, or over those of all others.

    A conversation without other speakers has a vector of zeros, which is equally far from all others.
    """

    def score(inputs: ScoringInputs, tasks: Tasks) -> dict[str, TaskFigures]:
        def embed(conversations: list[Any]) -> Any:
            pooling = "speaker:first" if first else "speaker:other"
            renamed = [_first_and_other(messages) for messages in conversations]
            return inputs.encoder.encode_conversations(renamed, pooling=pooling, show_progress_bar=True, absent="zero")

        return conversation_figures(embed, tasks)

    return score


def _first_and_other(messages: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    start = messages[0]["role"]
    return [{**message, "role": "first" if message["role"] == start else "other"} for message in messages]


def mean_of_utterances(inputs: ScoringInputs, tasks: Tasks) -> dict[str, TaskFigures]:
    """The mean of the encoder's own embeddings of the utterances."""
    return conversation_figures(MeanOfUtterances(_OwnEmbeddings(inputs.encoder)).encode_conversations, tasks)


@dataclass(frozen=True)
class _OwnEmbeddings:
    """An encoder as ``MeanOfUtterances`` takes one."""

    encoder: SentenceTransformer

    def fit(self, conversations: Any) -> Self:
        return self

    def encode_messages(self, texts: Sequence[str]) -> np.ndarray:
        return encode_messages(self.encoder, texts, show_progress_bar=True)


# --- The order of turns


def turn_order(*modes: str) -> Score:
    """Score next utterances in these modes, and the other tasks in all modes that the encoder supports."""

    def score(inputs: ScoringInputs, tasks: Tasks) -> dict[str, TaskFigures]:
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


def _figures_of_modes(name: str, result: Any) -> TaskFigures:
    values = {f"{TASKS[name].key}/{mode}": scores.per_query for mode, scores in result.modes.items()}
    return TaskFigures(result.summary(), values)


class _ConveRTModes(Modes):
    """Contexts and replies through the towers of a ConveRT that has learned."""

    def __init__(self, embedded: EmbeddedSequences, network: ConveRT) -> None:
        super().__init__(embedded)
        self.network = network

    @override
    def prepare(self, depths: Sequence[Depth], names: Sequence[str]) -> None:
        """Nothing is shared between depths."""

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


def convert(inputs: ScoringInputs, tasks: Tasks) -> dict[str, TaskFigures]:
    """Next messages by a small ConveRT that learns from scratch."""
    network = ConveRT(ConveRTSettings(seed=inputs.seed)).fit(inputs.train)
    figures = {}
    for name, sequences in tasks.items():
        modes = _ConveRTModes(EmbeddedSequences(inputs.encoder, sequences), network)
        result: Any = rank_next_messages(modes, ("convert",), EVALUATION_SEED)
        figures[name] = _figures_of_modes(name, result)
    return figures
