"""The papers' baselines by name, and the classes they are made of."""

from __future__ import annotations

from turnwise.papers.baselines.baseline import Baseline, BaselineInputs, Learning, Need
from turnwise.papers.baselines.bm25 import BM25
from turnwise.papers.baselines.dialogues import Concatenation, MeanOfUtterances
from turnwise.papers.baselines.doc2vec import Doc2Vec
from turnwise.papers.baselines.flow import Flow
from turnwise.papers.baselines.hf import HuggingFaceModel
from turnwise.papers.baselines.lda import LDA
from turnwise.papers.baselines.pooled import PooledEncoder
from turnwise.papers.baselines.protocols import DialogueBaseline, UtteranceBaseline
from turnwise.papers.baselines.registry import BASELINES, build_baseline
from turnwise.papers.baselines.simcse import SimCSE, SimCSESettings
from turnwise.papers.baselines.tfidf import TfIdf
from turnwise.papers.baselines.token_pooling import TokenPooling
from turnwise.papers.baselines.whitening import Whitening
from turnwise.papers.baselines.word_vectors import Word2Vec, WordVectors

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
