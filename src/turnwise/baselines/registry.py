"""The table of baselines, and making one by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from sentence_transformers import SentenceTransformer

from turnwise._utils.levels import LevelName
from turnwise.baselines.bm25 import BM25
from turnwise.baselines.dialogues import Concatenation, MeanOfUtterances
from turnwise.baselines.doc2vec import Doc2Vec
from turnwise.baselines.flow import Flow
from turnwise.baselines.hf import HuggingFaceModel
from turnwise.baselines.lda import LDA
from turnwise.baselines.pooled import PooledEncoder
from turnwise.baselines.simcse import SimCSE, SimCSESettings
from turnwise.baselines.tfidf import TfIdf
from turnwise.baselines.token_pooling import Pooling, TokenPooling
from turnwise.baselines.whitening import Whitening
from turnwise.baselines.word_vectors import Word2Vec, WordVectors
from turnwise.encoders.loading import load_encoder
from turnwise.training.recipes import Adaptation

Need = Literal["nothing", "encoder", "word_vectors", "model"]
# What it can do: embed, name clusters (one task), or rank the candidates of a retrieval task.
Gives = Literal["embeddings", "clusters", "rankings"]


@dataclass(frozen=True)
class Ingredients:
    """What baselines are made of.

    Attributes:
        encoder: For those that start from an encoder; none of them changes it.
        word_vectors: A file of word vectors.
        model: A Hugging Face model, by name or folder.
        topics: Number of topics, for those that find topics.
        seed: Seed of everything random.
    """

    encoder: Any = None
    word_vectors: Any = None
    model: Any = None
    topics: int = 20
    seed: int = 0


@dataclass(frozen=True)
class Baseline:
    """One baseline, as data.

    Attributes:
        name: Its name, words joined by hyphens.
        description: What it is.
        paper: Authors and year.
        make: How it is made, for each level it serves.
        needs: What the user has to have: an encoder (the default one will do), a file of word vectors, a model.
        gives: What it gives; only ``"embeddings"`` serve all tasks of the level.
    """

    name: str
    description: str
    paper: str
    make: dict[LevelName, Callable[[Ingredients], Any]]
    needs: Need = "nothing"
    gives: Gives = "embeddings"

    @property
    def levels(self) -> tuple[LevelName, ...]:
        """What it embeds."""
        return tuple(self.make)


def _pooled(pooling: Pooling = "mean", adapted: bool = False) -> Callable[[Ingredients], PooledEncoder]:
    def make(given: Ingredients) -> PooledEncoder:
        return PooledEncoder(given.encoder, pooling, Adaptation(seed=given.seed) if adapted else None)

    return make


def _whitened(adapted: bool) -> Callable[[Ingredients], Whitening]:
    return lambda given: Whitening(_pooled(adapted=adapted)(given))


def _flow(adapted: bool) -> Callable[[Ingredients], Flow]:
    return lambda given: Flow(_pooled(adapted=adapted)(given), seed=given.seed)


def _simcse(given: Ingredients) -> SimCSE:
    return SimCSE(given.encoder, SimCSESettings(seed=given.seed))


def _one_text(make: Callable[[Ingredients], Any]) -> Callable[[Ingredients], Concatenation]:
    """A dialogue as one text, within the limit where there is a transformer."""

    def concatenation(given: Ingredients) -> Concatenation:
        made = make(given)
        return Concatenation(made, made if isinstance(made, TokenPooling) else None)

    return concatenation


def _mean(make: Callable[[Ingredients], Any]) -> Callable[[Ingredients], MeanOfUtterances]:
    return lambda given: MeanOfUtterances(make(given))


def _as_one_text(make: Callable[[Ingredients], Any]) -> dict[LevelName, Callable[[Ingredients], Any]]:
    return {"utterance": make, "dialogue": _one_text(make)}


def _as_mean(make: Callable[[Ingredients], Any]) -> dict[LevelName, Callable[[Ingredients], Any]]:
    return {"utterance": make, "dialogue": _mean(make)}


BASELINES = {
    baseline.name: baseline
    for baseline in (
        Baseline(
            "glove",
            "averaged vectors of a GloVe or word2vec text file",
            "Pennington et al., 2014",
            _as_one_text(lambda given: WordVectors(given.word_vectors)),
            needs="word_vectors",
        ),
        Baseline(
            "word2vec",
            "averaged word2vec vectors, trained on the conversations",
            "Mikolov et al., 2013",
            _as_one_text(lambda given: Word2Vec(seed=given.seed)),
        ),
        Baseline("tf-idf", "TF-IDF vectors", "Spärck Jones, 1972", _as_one_text(lambda given: TfIdf())),
        Baseline(
            "bm25",
            "BM25 scores",
            "Robertson and Zaragoza, 2009",
            {"utterance": lambda given: BM25(), "dialogue": lambda given: BM25()},
            gives="rankings",
        ),
        Baseline(
            "doc2vec",
            "Doc2Vec of dialogues, trained on the conversations",
            "Le and Mikolov, 2014",
            {"dialogue": lambda given: Doc2Vec(seed=given.seed)},
        ),
        Baseline(
            "lda",
            "topics of dialogues as clusters",
            "Blei et al., 2003",
            {"dialogue": lambda given: LDA(given.topics, seed=given.seed)},
            gives="clusters",
        ),
        Baseline("cls", "the classification token", "Devlin et al., 2019", _as_one_text(_pooled("cls")), "encoder"),
        Baseline("mean", "the mean of the tokens", "Devlin et al., 2019", _as_one_text(_pooled("mean")), "encoder"),
        Baseline(
            "mean-of-utterances",
            "the mean of the utterances' means",
            "Liu et al., 2022",
            {"dialogue": _mean(_pooled("mean"))},
            "encoder",
        ),
        Baseline(
            "cls-adapted",
            "the classification token after masked-language-model adaptation",
            "Gururangan et al., 2020",
            _as_one_text(_pooled("cls", adapted=True)),
            "encoder",
        ),
        Baseline(
            "mean-adapted",
            "the mean of the tokens after masked-language-model adaptation",
            "Gururangan et al., 2020",
            _as_one_text(_pooled("mean", adapted=True)),
            "encoder",
        ),
        Baseline("whitening", "the mean, whitened", "Su et al., 2021", _as_mean(_whitened(False)), "encoder"),
        Baseline(
            "whitening-adapted", "the adapted mean, whitened", "Su et al., 2021", _as_mean(_whitened(True)), "encoder"
        ),
        Baseline("flow", "the mean through a trained flow", "Li et al., 2020", _as_mean(_flow(False)), "encoder"),
        Baseline(
            "flow-adapted",
            "the adapted mean through a trained flow",
            "Li et al., 2020",
            _as_mean(_flow(True)),
            "encoder",
        ),
        Baseline("simcse", "dropout twice, unsupervised", "Gao et al., 2021", _as_mean(_simcse), "encoder"),
        Baseline(
            "hf",
            "any Hugging Face encoder or encoder–decoder, mean of the tokens",
            "",
            _as_one_text(lambda given: HuggingFaceModel(given.model)),
            needs="model",
        ),
    )
}


def build_baseline(
    name: str,
    level: LevelName = "utterance",
    *,
    encoder: SentenceTransformer | str | os.PathLike[str] | None = None,
    word_vectors: str | os.PathLike[str] | None = None,
    model: str | os.PathLike[str] | None = None,
    topics: int = 20,
    seed: int = 0,
) -> Any:
    """Make a baseline of ``BASELINES``, ready to ``fit``.

    Args:
        name: Its name.
        level: What it shall embed, ``"utterance"`` or ``"dialogue"``.
        encoder: An encoder, or its name or path, for those that need one; it is not changed. None is the default.
        word_vectors: A text file of word vectors, for those that need one.
        model: A Hugging Face model, by name or folder, for those that need one.
        topics: Number of topics, for those that find topics.
        seed: Seed of everything random.

    Returns:
        With ``fit(conversations)`` and, by what it gives and its level: ``encode_utterances(texts)``,
        ``encode_conversations(conversations)``, ``clusters(conversations)``; or without ``fit`` (BM25):
        ``score_retrieval(task, seed)`` and ``score_dialogue_retrieval(dialogues, seed)``.

    Raises:
        ValueError: An unknown name, a level it does not serve, or something it needs is missing.
        ImportError: An optional dependency is missing.
    """
    if name not in BASELINES:
        raise ValueError(f"unknown baseline {name!r}: expected one of {', '.join(BASELINES)}")
    baseline = BASELINES[name]
    if level not in baseline.make:
        raise ValueError(f"the baseline {name} serves {' and '.join(baseline.levels)}, got level {level!r}")
    if baseline.needs == "encoder" and not isinstance(encoder, SentenceTransformer):
        encoder = load_encoder(encoder)
    given = Ingredients(encoder, word_vectors, model, topics, seed)
    if baseline.needs != "nothing" and getattr(given, baseline.needs) is None:
        raise ValueError(f"the baseline {name} needs {baseline.needs}, got none")
    return baseline.make[level](given)
