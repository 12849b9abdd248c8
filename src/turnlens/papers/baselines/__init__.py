"""The papers' baselines by name, and the classes they are made of."""

from __future__ import annotations

from turnlens.papers.baselines.baseline import Baseline, BaselineInputs, Learning, Need
from turnlens.papers.baselines.bm25 import BM25
from turnlens.papers.baselines.dialogues import Concatenation, MeanOfUtterances
from turnlens.papers.baselines.doc2vec import Doc2Vec
from turnlens.papers.baselines.flow import Flow
from turnlens.papers.baselines.hf import HuggingFaceModel
from turnlens.papers.baselines.lda import LDA
from turnlens.papers.baselines.pooled import PooledEncoder
from turnlens.papers.baselines.protocols import DialogueBaseline, UtteranceBaseline
from turnlens.papers.baselines.registry import BASELINES, build_baseline
from turnlens.papers.baselines.simcse import SimCSE, SimCSESettings
from turnlens.papers.baselines.tfidf import TfIdf
from turnlens.papers.baselines.token_pooling import TokenPooling
from turnlens.papers.baselines.whitening import Whitening
from turnlens.papers.baselines.word_vectors import Word2Vec, WordVectors

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
