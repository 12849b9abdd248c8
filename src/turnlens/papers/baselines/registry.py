"""The table of baselines, and how one is made by name."""

from __future__ import annotations

import os
from typing import Any

from sentence_transformers import SentenceTransformer

from turnlens._utils.registries import LevelName
from turnlens.encoders.loading import load_sentence_transformer
from turnlens.papers.adaptation import Adaptation
from turnlens.papers.baselines.bag_of_words import BM25, LDA, TfIdf
from turnlens.papers.baselines.baseline import Baseline, BaselineInputs, Make
from turnlens.papers.baselines.dialogues import Concatenation, MeanOfUtterances
from turnlens.papers.baselines.flow import Flow
from turnlens.papers.baselines.simcse import SimCSE, SimCSESettings
from turnlens.papers.baselines.token_pooling import HuggingFaceModel, PooledEncoder, Pooling, TokenPooling
from turnlens.papers.baselines.whitening import Whitening
from turnlens.papers.baselines.word_vectors import Doc2Vec, Word2Vec, WordVectors


def _pooled(pooling: Pooling = "mean", adapted: bool = False) -> Make:
    return lambda given: PooledEncoder(given.encoder, pooling, Adaptation(seed=given.seed) if adapted else None)


def _whitened(adapted: bool) -> Make:
    return lambda given: Whitening(_pooled(adapted=adapted)(given))


def _flow(adapted: bool) -> Make:
    return lambda given: Flow(_pooled(adapted=adapted)(given), seed=given.seed)


def _as_one_text(make: Make) -> dict[LevelName, Make]:
    """Embed a dialogue as one text, cut at the limit of the transformer if there is one."""

    def concatenation(given: BaselineInputs) -> Concatenation:
        encoder = make(given)
        return Concatenation(encoder, encoder if isinstance(encoder, TokenPooling) else None)

    return {"message": make, "conversation": concatenation}


def _as_mean(make: Make) -> dict[LevelName, Make]:
    return {"message": make, "conversation": lambda given: MeanOfUtterances(make(given))}


_TABLE = [
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
        learns="randomly",
    ),
    Baseline(
        "tf-idf",
        "TF-IDF vectors",
        "Spärck Jones, 1972",
        _as_one_text(lambda given: TfIdf()),
        learns="deterministically",
    ),
    Baseline(
        "bm25",
        "BM25 scores",
        "Robertson and Zaragoza, 2009",
        dict.fromkeys(("message", "conversation"), lambda given: BM25()),
        gives="rankings",
    ),
    Baseline(
        "doc2vec",
        "Doc2Vec of dialogues, trained on the conversations",
        "Le and Mikolov, 2014",
        {"conversation": lambda given: Doc2Vec(seed=given.seed)},
        learns="randomly",
    ),
    Baseline(
        "lda",
        "topics of dialogues as clusters",
        "Blei et al., 2003",
        {"conversation": lambda given: LDA(given.topics, seed=given.seed)},
        learns="randomly",
        gives="clusters",
    ),
    Baseline("cls", "the classification token", "Devlin et al., 2019", _as_one_text(_pooled("cls")), needs="encoder"),
    Baseline("mean", "the mean of the tokens", "Devlin et al., 2019", _as_one_text(_pooled("mean")), needs="encoder"),
    Baseline(
        "mean-of-utterances",
        "the mean of the utterances' means",
        "Liu et al., 2022",
        {"conversation": _as_mean(_pooled("mean"))["conversation"]},
        needs="encoder",
    ),
    Baseline(
        "cls-adapted",
        "the classification token after masked-language-model adaptation",
        "Gururangan et al., 2020",
        _as_one_text(_pooled("cls", adapted=True)),
        needs="encoder",
        learns="randomly",
    ),
    Baseline(
        "mean-adapted",
        "the mean of the tokens after masked-language-model adaptation",
        "Gururangan et al., 2020",
        _as_one_text(_pooled("mean", adapted=True)),
        needs="encoder",
        learns="randomly",
    ),
    Baseline(
        "whitening",
        "the mean, whitened",
        "Su et al., 2021",
        _as_mean(_whitened(adapted=False)),
        needs="encoder",
        learns="deterministically",
    ),
    Baseline(
        "whitening-adapted",
        "the adapted mean, whitened",
        "Su et al., 2021",
        _as_mean(_whitened(adapted=True)),
        needs="encoder",
        learns="randomly",
    ),
    Baseline(
        "flow",
        "the mean through a trained flow (Glow)",
        "Li et al., 2020",
        _as_mean(_flow(adapted=False)),
        needs="encoder",
        learns="randomly",
    ),
    Baseline(
        "flow-adapted",
        "the adapted mean through a trained flow (Glow)",
        "Li et al., 2020",
        _as_mean(_flow(adapted=True)),
        needs="encoder",
        learns="randomly",
    ),
    Baseline(
        "simcse",
        "dropout twice, unsupervised",
        "Gao et al., 2021",
        _as_mean(lambda given: SimCSE(given.encoder, SimCSESettings(seed=given.seed))),
        needs="encoder",
        learns="randomly",
    ),
    Baseline(
        "hf",
        "any Hugging Face encoder or encoder–decoder, mean of the tokens",
        "",
        _as_one_text(lambda given: HuggingFaceModel(given.model)),
        needs="model",
    ),
]
BASELINES = {baseline.name: baseline for baseline in _TABLE}


def build_baseline(
    name: str,
    level: LevelName = "message",
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
        level: What it is to embed, ``"message"`` or ``"conversation"``.
        encoder: An encoder, or its name or path, for baselines that need one; it is not changed. None means the
            default.
        word_vectors: A text file of word vectors, for those that need one.
        model: A Hugging Face model, by name or folder, for those that need one.
        topics: Number of topics, for those that find topics.
        seed: Seed of everything random.

    Returns:
        An object with ``fit(conversations)`` and, depending on its level and on what it gives,
        ``encode_messages(texts)``,
        ``encode_conversations(conversations)``, ``clusters(conversations)``; or (BM25)
        ``score_retrieval(task, seed)`` and ``score_conversation_retrieval(dialogues, seed)``.

    Raises:
        ValueError: The name is unknown, the baseline does not serve the level, or something that it needs is missing.
        ImportError: An optional dependency is missing.
    """
    if name not in BASELINES:
        raise ValueError(f"unknown baseline {name!r}: expected one of {', '.join(BASELINES)}")
    baseline = BASELINES[name]
    if level not in baseline.make:
        raise ValueError(f"the baseline {name} serves {' and '.join(baseline.levels)}, got level {level!r}")
    if baseline.needs == "encoder" and not isinstance(encoder, SentenceTransformer):
        encoder = load_sentence_transformer(encoder)
    inputs = BaselineInputs(encoder, word_vectors, model, topics, seed)
    if baseline.needs != "nothing" and getattr(inputs, baseline.needs) is None:
        raise ValueError(f"the baseline {name} needs {baseline.needs}, got none")
    return baseline.make[level](inputs)
