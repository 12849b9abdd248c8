"""The papers' baselines by name, and the classes they are made of."""

from __future__ import annotations

from turnwise.baselines.baseline import Baseline, BaselineInputs, Learning, Need
from turnwise.baselines.bm25 import BM25
from turnwise.baselines.dialogues import Concatenation, MeanOfUtterances
from turnwise.baselines.doc2vec import Doc2Vec
from turnwise.baselines.flow import Flow
from turnwise.baselines.hf import HuggingFaceModel
from turnwise.baselines.lda import LDA
from turnwise.baselines.pooled import PooledEncoder
from turnwise.baselines.protocols import DialogueBaseline, UtteranceBaseline
from turnwise.baselines.registry import BASELINES, build_baseline
from turnwise.baselines.simcse import SimCSE, SimCSESettings
from turnwise.baselines.tfidf import TfIdf
from turnwise.baselines.token_pooling import TokenPooling
from turnwise.baselines.whitening import Whitening
from turnwise.baselines.word_vectors import Word2Vec, WordVectors

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
