"""Unsupervised SimCSE.

A tiny random encoder does not become better at retrieval within a second. It beats random vectors before and after;
what training itself is tested by is what it is for: the loss falls, and embeddings spread out.
"""

import numpy as np
import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer

from turnlens.papers.baselines import PooledEncoder, SimCSE, SimCSESettings
from turnlens.papers.baselines.baseline import utterances
from turnlens.papers.dial2vec.alignment_uniformity import uniformity

QUICK = SimCSESettings(max_steps=20, batch_size=16, max_length=12, learning_rate=2e-3)


def spread(vectors: np.ndarray) -> float:
    return uniformity(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


@pytest.mark.slow
def test_the_loss_falls_and_embeddings_spread_out(tiny_encoder: SentenceTransformer, corpus: Dataset) -> None:
    texts = utterances(corpus)[:200]
    before = PooledEncoder(tiny_encoder).encode_messages(texts)
    model = SimCSE(tiny_encoder, QUICK).fit(corpus)
    assert len(model.losses) == 3 and model.losses[-1] < model.losses[0]
    after = model.encode_messages(texts)
    assert spread(after) < spread(before) - 0.1
    # The encoder it started from is as it was, and so is what limits the length of texts.
    assert np.array_equal(PooledEncoder(tiny_encoder).encode_messages(texts), before)
    assert model.trained is not None and model.trained.max_seq_length == tiny_encoder.max_seq_length


@pytest.mark.slow
def test_beats_random_and_is_settled_by_its_seed(
    word_encoder: SentenceTransformer, corpus: Dataset, beats_random
) -> None:
    def fitted(seed: int) -> SimCSE:
        torch.manual_seed(1 + seed)  # whatever was drawn before
        return SimCSE(word_encoder, SimCSESettings(max_steps=2, batch_size=16, seed=seed)).fit(corpus)

    texts = ["i want to order a pizza", "thanks"]
    first = fitted(0)
    vectors = first.encode_messages(texts)
    beats_random(first)
    assert np.array_equal(first.fit(corpus).encode_messages(texts), vectors)
    assert not np.array_equal(fitted(1).encode_messages(texts), vectors)


def test_the_two_sides_of_a_pair_have_other_dropout_masks(tiny_encoder: SentenceTransformer, corpus: Dataset) -> None:
    """Without dropout both are the same vector, and as similar as can be, so the loss is lower."""

    def first_loss() -> float:
        settings = SimCSESettings(max_steps=10, batch_size=8, max_length=8, learning_rate=1e-9)
        return SimCSE(tiny_encoder, settings).fit(corpus).losses[0]

    with_dropout = first_loss()
    for module in tiny_encoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    assert first_loss() < with_dropout


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="batch_size must be at least 2"):
        SimCSESettings(batch_size=1)
    with pytest.raises(ValueError, match="temperature must be positive"):
        SimCSESettings(temperature=0)
