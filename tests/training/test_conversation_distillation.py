from __future__ import annotations

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

import turnwise
from turnwise._utils.vectors import unit_vectors
from turnwise.encoders.centre import Centre
from turnwise.encoders.message_pooling import pool_messages
from turnwise.training.conversation_distillation import _parts, distill_centre


def talks(dialogues: int = 60, filler: int = 4) -> tuple[np.ndarray, ...]:
    """Vectors of messages, tokens, starts, and a teacher: one message of a dialogue has its topic, the rest chatter."""
    draws = np.random.default_rng(0)
    topics = np.eye(8)[draws.integers(4, size=dialogues)]
    chatter = draws.normal(size=(dialogues, filler, 8)) * [0, 0, 0, 0, 1, 1, 1, 1]
    vectors = unit_vectors(np.concatenate([topics[:, None], chatter], axis=1)).reshape(-1, 8)
    starts = np.arange(dialogues) * (filler + 1)
    return vectors, np.full(len(vectors), 5), starts, unit_vectors(topics + 0.05 * draws.normal(size=topics.shape))


def agreement(vectors: np.ndarray, teacher: np.ndarray) -> float:
    """Correlation of the cosines of all pairs."""
    pairs = np.triu_indices(len(vectors), 1)
    return float(np.corrcoef((vectors @ vectors.T)[pairs], (teacher @ teacher.T)[pairs])[0, 1])


def test_dialogues_become_alike_as_the_teacher_says() -> None:
    vectors, tokens, starts, teacher = talks()
    plain = Centre.fit(pool_messages(vectors, tokens, starts), 0.1)
    learned = distill_centre(plain, vectors, tokens, starts, teacher)
    before, after = (agreement(pool_messages(vectors, tokens, starts, one), teacher) for one in (plain, learned))
    assert after > before + 0.1
    # What tells the topic counts more.
    assert (learned.weight[:4] > np.abs(learned.weight[4:]).max()).any()


def test_the_same_seed_learns_the_same() -> None:
    vectors, tokens, starts, teacher = talks(30)
    centre = Centre.fit(pool_messages(vectors, tokens, starts), 0)
    first, again, other = (distill_centre(centre, vectors, tokens, starts, teacher, seed) for seed in (0, 0, 1))
    assert (first.stretch == again.stretch).all() and not (first.stretch == other.stretch).all()


def test_every_part_has_a_message() -> None:
    owner = torch.tensor([0, 0, 0, 0, 0, 0, 1, 2, 2])
    for seed in range(20):
        part = _parts(owner, 3, torch.Generator().manual_seed(seed))
        assert set(owner[part].tolist()) == {0, 1, 2} and not part.all()


def test_it_is_saved_with_the_model(tiny_encoder: SentenceTransformer, conversations, tmp_path) -> None:
    turnwise.centre(conversations, encoder=tiny_encoder, output=tmp_path / "model", distill=True)
    learned = turnwise.load_encoder(tmp_path / "model").centre
    assert learned["messages"].weight.any() and not learned["mean"].weight.any()
    found = tiny_encoder.encode_conversations(conversations["messages"][:], pooling="messages")
    assert np.isfinite(found).all() and np.linalg.norm(found, axis=1) == pytest.approx(1)
