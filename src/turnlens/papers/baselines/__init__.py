"""The papers' baselines by name, and the classes they are made of."""

from __future__ import annotations

from turnlens.papers.baselines.bag_of_words import BM25, LDA, TfIdf
from turnlens.papers.baselines.baseline import (
    Baseline,
    BaselineInputs,
    DialogueBaseline,
    Learning,
    Need,
    UtteranceBaseline,
)
from turnlens.papers.baselines.dialogues import Concatenation, MeanOfUtterances
from turnlens.papers.baselines.flow import Flow
from turnlens.papers.baselines.registry import BASELINES, build_baseline
from turnlens.papers.baselines.simcse import SimCSE, SimCSESettings
from turnlens.papers.baselines.token_pooling import HuggingFaceModel, PooledEncoder, TokenPooling
from turnlens.papers.baselines.whitening import Whitening
from turnlens.papers.baselines.word_vectors import Doc2Vec, Word2Vec, WordVectors

__all__ = [
    "BASELINES",
    "BM25",
    "LDA",
    "Baseline",
    "BaselineInputs",
    "Concatenation",
    "DialogueBaseline",
    "Doc2Vec",
    "Flow",
    "HuggingFaceModel",
    "Learning",
    "MeanOfUtterances",
    "Need",
    "PooledEncoder",
    "SimCSE",
    "SimCSESettings",
    "TfIdf",
    "TokenPooling",
    "UtteranceBaseline",
    "Whitening",
    "Word2Vec",
    "WordVectors",
    "build_baseline",
]
