"""The corpus baselines are tried on, and what they have to beat."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer

import turnlens
from tiny_encoder import save_random_encoder
from turnlens.data.languages import tokenize
from turnlens.evaluation import (
    LabelledConversations,
    RetrievalTask,
    compare_results,
    embed_labelled,
    evaluate_retrieval,
    labelled_conversations,
    load_task,
)
from turnlens.papers.retrieval import evaluate_conversation_retrieval


@pytest.fixture(scope="session")
def corpus() -> Dataset:
    return turnlens.sample_conversations(80)


@pytest.fixture(scope="session")
def retrieval(corpus: Dataset) -> RetrievalTask:
    task: RetrievalTask = load_task("semantic-retrieval", corpus)
    return task


@pytest.fixture(scope="session")
def dialogues(corpus: Dataset) -> LabelledConversations:
    return labelled_conversations(corpus)


@pytest.fixture(scope="session")
def word_encoder_path(corpus: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random encoder with a token for every word of the corpus: by which words they share, texts are alike."""
    folder = tmp_path_factory.mktemp("words")
    words = sorted({word for messages in corpus["messages"] for m in messages for word in tokenize(m["content"])})
    sizes = {"hidden_size": 48, "num_hidden_layers": 2, "intermediate_size": 48}
    return save_random_encoder(folder, words, positions=512, word_scale=10, initializer_range=0.1, **sizes)


@pytest.fixture
def word_encoder(word_encoder_path: Path) -> SentenceTransformer:
    return SentenceTransformer(str(word_encoder_path), device="cpu").eval()


@pytest.fixture(scope="session")
def random_vectors() -> Callable[[list[Any]], np.ndarray]:
    return lambda items: np.random.default_rng(0).normal(size=(len(items), 64))


@pytest.fixture
def beats_random(
    retrieval: RetrievalTask, dialogues: LabelledConversations, random_vectors: Callable[[list[Any]], np.ndarray]
) -> Callable[[Any], None]:
    """Asserts that a baseline has a higher MAP than random vectors at all levels it serves, beyond chance."""

    def check(baseline: Any) -> None:
        pairs = []
        if hasattr(baseline, "encode_messages"):
            pairs.append([evaluate_retrieval(e, retrieval) for e in (random_vectors, baseline.encode_messages)])
        if hasattr(baseline, "encode_conversations"):
            embedded = [embed_labelled(e, dialogues) for e in (random_vectors, baseline.encode_conversations)]
            pairs.append([evaluate_conversation_retrieval(some) for some in embedded])
        assert pairs
        for floor, result in pairs:
            assert result.map > floor.map and compare_results(floor, result) < 0.05, (floor.map, result.map)

    return check
