"""The rows of the papers' tables: what is trained one after the other, and how the result is scored on the tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sklearn.feature_extraction.text import HashingVectorizer

from turnwise._utils.levels import LevelName
from turnwise.baselines import LDA, MeanOfUtterances, build_baseline
from turnwise.encoders.conversations import encode_conversations
from turnwise.encoders.utterances import encode_utterances
from turnwise.evaluation import (
    TASKS,
    CategorizationResult,
    EmbeddedSequences,
    embed_dialogues,
    evaluate_next_utterance,
)

# All methods are measured on the same queries, candidates and clusterings, so that they can be compared in pairs.
EVALUATION_SEED = 0

_UNTOUCHED = "untouched"  # always run
_MODEL = "hf:"


@dataclass(frozen=True)
class Figures:
    """What a method achieved in a task.

    Attributes:
        summary: The task's figures, ready for JSON.
        per_query: (queries,) values of the main figure: under the task's key, or for a task with several ways of
            scoring under ``"<key>/<mode>"`` each. Empty where queries have no values of their own.
    """

    summary: dict[str, Any]
    per_query: dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Given:
    """What a method scores with.

    Attributes:
        encoder: The encoder after the method's trainings.
        train: Conversations to learn from, a ``datasets.Dataset``; None for methods that learn nothing.
        seed: Seed of what the method learns.
        word_vectors: A file of word vectors, or None.
    """

    encoder: SentenceTransformer
    train: Any
    seed: int
    word_vectors: str | None


Tasks = Mapping[str, Any]  # name -> from ``load_task``; the tasks of one level above utterances share one
Score = Callable[[Given, Tasks], dict[str, Figures]]


@dataclass(frozen=True)
class Stage:
    """One training of the encoder: the name of a recipe, ``"adapt"`` or ``"simcse"``, and what differs from it."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """One row of a table.

    Attributes:
        name: Its name.
        title: Its name in the report.
        score: How it is scored on the tasks.
        stages: Trainings of the encoder, one after the other. Methods that share them share the trained model.
        learns: What ``score`` itself learns from the training conversations: nothing, always the same, or with a seed.
        tasks: The tasks it serves; None is all of its level.
        needs: Something the user has to give: a file of word vectors.
        model: A Hugging Face model of its own, a name or a folder.
        own: Whether the paper proposes it; all others are what it is compared with.
    """

    name: str
    title: str
    score: Score
    stages: tuple[Stage, ...] = ()
    learns: Literal["nothing", "always the same", "randomly"] = "nothing"
    tasks: tuple[str, ...] | None = None
    needs: Literal["", "word_vectors"] = ""
    model: str = ""
    own: bool = False

    @property
    def needs_conversations(self) -> bool:
        """Whether it learns from conversations."""
        return bool(self.stages) or self.learns != "nothing"

    @property
    def needs_seeds(self) -> bool:
        """Whether a seed changes its result."""
        return bool(self.stages) or self.learns == "randomly"


# --- Utterances


def utterance_figures(encode: Callable[[list[str]], Any], tasks: Tasks) -> dict[str, Figures]:
    """The figures of a function that embeds texts."""
    return {name: _figures(name, TASKS[name].score(encode, task, EVALUATION_SEED)) for name, task in tasks.items()}


def as_trained(given: Given, tasks: Tasks) -> dict[str, Figures]:
    """The encoder's own sentence embeddings."""
    return utterance_figures(partial(encode_utterances, given.encoder, show_progress_bar=True), tasks)


def utterance_baseline(name: str) -> Score:
    """A baseline of ``turnwise.baselines``, on top of the method's encoder where it needs one."""

    def score(given: Given, tasks: Tasks) -> dict[str, Figures]:
        made = _baseline(name, "utterance", given)
        return utterance_figures(made.fit(given.train).encode_utterances, tasks)

    return score


def utterance_bm25(given: Given, tasks: Tasks) -> dict[str, Figures]:
    """BM25 ranks the candidates; it embeds nothing."""
    made = build_baseline("bm25")
    return {name: _figures(name, made.score_retrieval(task, EVALUATION_SEED)) for name, task in tasks.items()}


def character_ngrams(given: Given, tasks: Tasks) -> dict[str, Figures]:
    """One to three characters, hashed: needs no training and knows every language."""
    hashed = HashingVectorizer(analyzer="char_wb", ngram_range=(1, 3), n_features=4096)
    return utterance_figures(lambda texts: hashed.transform(texts).toarray(), tasks)


# --- Whole dialogues


def dialogue_figures(encode: Callable[[list[Any]], Any], tasks: Tasks) -> dict[str, Figures]:
    """The figures of a function that embeds whole conversations, each embedded once for all tasks."""
    embedded = embed_dialogues(encode, next(iter(tasks.values())))
    return {name: _figures(name, TASKS[name].measure(embedded, EVALUATION_SEED)) for name in tasks}


def whole(pooling: str) -> Score:
    """All turns through the encoder at once, see ``encode_conversations``."""

    def score(given: Given, tasks: Tasks) -> dict[str, Figures]:
        embed = partial(encode_conversations, given.encoder, pooling=pooling, show_progress_bar=True)
        return dialogue_figures(embed, tasks)

    return score


def alone(first: bool) -> Score:
    """All turns through the encoder, pooled over those of who starts the conversation, or over those of the others."""

    def score(given: Given, tasks: Tasks) -> dict[str, Figures]:
        def embed(conversations: list[Any]) -> Any:
            pooling = "speaker:first" if first else "speaker:other"
            renamed = [_first_and_other(messages) for messages in conversations]
            return encode_conversations(given.encoder, renamed, pooling, show_progress_bar=True)

        return dialogue_figures(embed, tasks)

    return score


def _first_and_other(messages: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    start = messages[0]["role"]
    return [{**message, "role": "first" if message["role"] == start else "other"} for message in messages]


def mean_of_sentences(given: Given, tasks: Tasks) -> dict[str, Figures]:
    """The mean of the encoder's own embeddings of the utterances."""
    return dialogue_figures(MeanOfUtterances(_Sentences(given.encoder)).encode_conversations, tasks)


@dataclass(frozen=True)
class _Sentences:
    encoder: SentenceTransformer

    def fit(self, conversations: Any) -> Self:
        return self

    def encode_utterances(self, texts: Sequence[str]) -> np.ndarray:
        return encode_utterances(self.encoder, texts, show_progress_bar=True)


def dialogue_baseline(name: str) -> Score:
    """A baseline of ``turnwise.baselines`` for whole dialogues."""

    def score(given: Given, tasks: Tasks) -> dict[str, Figures]:
        made = _baseline(name, "dialogue", given)
        return dialogue_figures(made.fit(given.train).encode_conversations, tasks)

    return score


def topics(given: Given, tasks: Tasks) -> dict[str, Figures]:
    """Topics as clusters, as many as labels: one run, there is nothing left to draw."""
    ((name, dialogues),) = tasks.items()
    made = LDA(len(dialogues.labels), seed=given.seed).fit(given.train)
    clusters = made.clusters(list(dialogues.conversations)).astype(np.int32)
    return {name: _figures(name, CategorizationResult.of(dialogues, clusters[None]))}


def dialogue_bm25(given: Given, tasks: Tasks) -> dict[str, Figures]:
    """BM25 with the whole dialogue as the query."""
    made = build_baseline("bm25", "dialogue")
    return {name: _figures(name, made.score_dialogue_retrieval(task, EVALUATION_SEED)) for name, task in tasks.items()}


# --- Sequences


def turn_order(*modes: str) -> Score:
    """The next utterance scored in these ways, and the other tasks in all that the encoder serves."""

    def score(given: Given, tasks: Tasks) -> dict[str, Figures]:
        embedded = EmbeddedSequences(given.encoder, next(iter(tasks.values())))
        found = {}
        for name in tasks:
            if name == "next-utterance":
                result: Any = evaluate_next_utterance(embedded, EVALUATION_SEED, modes)
            else:
                result = TASKS[name].measure(embedded, EVALUATION_SEED)
            values = {f"{TASKS[name].key}/{mode}": scores.per_query for mode, scores in result.modes.items()}
            found[name] = Figures(result.summary(), values)
        return found

    return score


# --- All


def _figures(name: str, result: Any) -> Figures:
    """Of a task on utterances or dialogues."""
    values = getattr(result, "per_query", None)
    return Figures(result.summary(), {} if values is None else {TASKS[name].key: values})


def _baseline(name: str, level: LevelName, given: Given) -> Any:
    return build_baseline(name, level, encoder=given.encoder, word_vectors=given.word_vectors, seed=given.seed)


_ADAPT = (Stage("adapt"),)
_SIMCSE = (Stage("simcse"),)
_CSE = (Stage("dialogue-cse"),)
_ATTENTION = (Stage("dialogue-cse", {"aggregation": "attention"}),)
_DIAL2VEC = (Stage("dial2vec"),)
_CCL = (Stage("ccl"),)
_RETRIEVAL = ("semantic-retrieval",)
# The recipe's own adaptation is the stage before it, which other rows share.
_PAPER = Stage("dialogue-cse-paper", {"adaptation": None})

_UTTERANCE = (
    Method("untouched", "encoder, untouched", as_trained),
    Method("bm25", "BM25", utterance_bm25, tasks=_RETRIEVAL),
    Method("char-ngrams", "character n-grams", character_ngrams),
    Method("tf-idf", "TF-IDF", utterance_baseline("tf-idf"), learns="always the same"),
    Method("glove", "averaged GloVe", utterance_baseline("glove"), needs="word_vectors"),
    Method("word2vec", "averaged word2vec, on the corpus", utterance_baseline("word2vec"), learns="randomly"),
    Method("cls", "classification token", utterance_baseline("cls")),
    Method("mean", "mean of tokens", utterance_baseline("mean")),
    Method("flow", "flow", utterance_baseline("flow"), learns="randomly"),
    Method("whitening", "whitening", utterance_baseline("whitening"), learns="always the same"),
    Method("cls-adapted", "adapted, classification token", utterance_baseline("cls"), _ADAPT),
    Method("mean-adapted", "adapted, mean of tokens", utterance_baseline("mean"), _ADAPT),
    Method("flow-adapted", "adapted, flow", utterance_baseline("flow"), _ADAPT, "randomly"),
    Method("whitening-adapted", "adapted, whitening", utterance_baseline("whitening"), _ADAPT, "always the same"),
    Method("simcse", "SimCSE", as_trained, _SIMCSE),
    Method("siamese-single", "SiameseBERT_S", as_trained, (Stage("siamese-single"),)),
    Method("siamese-multi", "SiameseBERT_M", as_trained, (Stage("siamese-multi"),)),
    Method("dialogue-cse-i1", "DialogueCSE I1", as_trained, _ATTENTION, own=True),
    Method("dialogue-cse", "DialogueCSE I2", as_trained, _CSE, own=True),
    Method(
        "dialogue-cse-paper", "DialogueCSE I2, adapted, settings of the paper", as_trained, (*_ADAPT, _PAPER), own=True
    ),
)

_DIALOGUE = (
    Method("untouched", "encoder, untouched: whole text, mean", whole("mean")),
    Method("bm25", "BM25", dialogue_bm25, tasks=("dialogue-retrieval",)),
    Method("lda", "LDA", topics, learns="randomly", tasks=("domain-categorization",)),
    Method("tf-idf", "TF-IDF", dialogue_baseline("tf-idf"), learns="always the same"),
    Method("glove", "averaged GloVe", dialogue_baseline("glove"), needs="word_vectors"),
    Method("word2vec", "averaged word2vec, on the corpus", dialogue_baseline("word2vec"), learns="randomly"),
    Method("doc2vec", "Doc2Vec", dialogue_baseline("doc2vec"), learns="randomly"),
    Method("mean-of-utterances", "mean of utterances, encoder", mean_of_sentences),
    Method("simcse", "mean of utterances, SimCSE", mean_of_sentences, _SIMCSE),
    Method("dialogue-cse", "mean of utterances, DialogueCSE", mean_of_sentences, _CSE),
    Method("mean", "first turns that fit, mean of tokens", dialogue_baseline("mean")),
    Method("untouched-p1", "encoder, untouched: who starts", alone(first=True)),
    Method("untouched-p2", "encoder, untouched: the other", alone(first=False)),
    Method("untouched-interlocutor", "encoder, untouched: interlocutor pooling", whole("interlocutor")),
    Method("dial2vec-p1", "dial2vec: who starts", alone(first=True), _DIAL2VEC, own=True),
    Method("dial2vec-p2", "dial2vec: the other", alone(first=False), _DIAL2VEC, own=True),
    Method("dial2vec-mean", "dial2vec: mean pooling", whole("mean"), _DIAL2VEC, own=True),
    Method("dial2vec", "dial2vec: interlocutor pooling", whole("interlocutor"), _DIAL2VEC, own=True),
)


_TRIPLE = turn_order("average", "last-1", "last-2", "last-3", "last-4", "max", "bi")
_ABLATION = turn_order("average", "last-2", "bi")
_NEXT = ("next-utterance",)
_ORDER = (*_NEXT, "short-term-planning", "additivity")


def _c3l(**settings: Any) -> tuple[Stage, ...]:
    return (*_CCL, Stage("c3l", settings))


_SEQUENCE = (
    Method("untouched", "encoder, untouched", turn_order("bi", "single"), tasks=_ORDER),
    Method("bm25", "BM25", turn_order("bm25"), tasks=_NEXT),
    Method(
        "single-vector",
        "single vector (ConveRT-style)",
        turn_order("single"),
        (Stage("single-vector", {"learning_rate": 2e-4, "frozen_layers": 0}),),  # as the others here
        tasks=_NEXT,
    ),
    Method("ccl", "CCL", turn_order("bi"), _CCL, tasks=_ORDER),
    # As many steps as C3L has with those of CCL before.
    Method("ccl-longer", "CCL, trained as long as C3L", turn_order("bi"), (*_CCL, *_CCL), tasks=_ORDER),
    Method("c3l", "C3L", _TRIPLE, _c3l(), own=True),
    Method(
        "c3l-scratch", "C3L, no CCL before", _ABLATION, (Stage("c3l", {"ccl_first": False}),), tasks=_ORDER, own=True
    ),
    Method("c3l-directional", "C3L, directional negatives", _ABLATION, _c3l(directional=True), tasks=_ORDER, own=True),
    Method("c3l-hard-positives", "C3L, hard positives", _ABLATION, _c3l(curved=False), tasks=_ORDER, own=True),
    Method("c3l-bi-positives", "C3L, bi-encoder positives", _ABLATION, _c3l(positives="bi"), tasks=_ORDER, own=True),
)

METHODS: dict[LevelName, dict[str, Method]] = {
    "utterance": {method.name: method for method in _UTTERANCE},
    "dialogue": {method.name: method for method in _DIALOGUE},
    "turn-order": {method.name: method for method in _SEQUENCE},
}


def chosen_methods(level: LevelName, names: Sequence[str] | None) -> dict[str, Method]:
    """Methods by name, in the order of their table; ``hf:NAME`` is the Hugging Face model of that name or folder.

    Args:
        level: What the methods embed.
        names: Their names; None is the whole table.

    Raises:
        ValueError: There is no such method.
    """
    table = METHODS[level]
    models = [name for name in names or () if name.startswith(_MODEL) and name != _MODEL and level != "turn-order"]
    unknown = sorted(set(names or ()) - set(table) - set(models))
    if unknown:
        further = "" if level == "turn-order" else f", or {_MODEL}NAME for a Hugging Face model"
        raise ValueError(
            f"unknown method {', '.join(map(repr, unknown))}: expected some of {', '.join(table)}{further}"
        )
    of_table = {name: method for name, method in table.items() if not names or name in names or name == _UNTOUCHED}
    return {**of_table, **{name: _other_model(level, name) for name in models}}


def _other_model(level: LevelName, name: str) -> Method:
    model = name.removeprefix(_MODEL)

    def score(given: Given, tasks: Tasks) -> dict[str, Figures]:
        made = build_baseline("hf", level, model=model)
        if level == "utterance":
            return utterance_figures(made.encode_utterances, tasks)
        return dialogue_figures(made.encode_conversations, tasks)

    return Method(name, f"{model}, mean of tokens", score, model=model)
