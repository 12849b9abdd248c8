"""Projections of messages are near each other if what is said around them is alike."""

import numpy as np
import pytest

from turnlens._utils.vectors import unit_vectors
from turnlens.encoders.context_projection import fit_context_projection

DIM, TOPICS, TURNS = 16, 4, 6


def talks(count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Conversations (n) about a topic each, which a little of every message tells: vectors, conversations, topics."""
    topic = np.repeat(random.integers(TOPICS, size=count), TURNS)
    vectors = random.normal(size=(count * TURNS, DIM)) + 1.5 * np.eye(DIM)[topic] + np.eye(DIM)[-1]
    return unit_vectors(vectors).astype(np.float32), np.repeat(np.arange(count), TURNS), topic


def closer(vectors: np.ndarray, topic: np.ndarray) -> float:
    """By how much the cosine of two messages about the same is above that of two others, in the mean."""
    cosines, same = vectors @ vectors.T, topic[:, None] == topic
    return float(cosines[same].mean() - cosines[~same].mean())


def test_messages_of_new_conversations_about_the_same_come_closer() -> None:
    random = np.random.default_rng(0)
    vectors, conversation, _ = talks(200, random)
    new, _, topic = talks(60, random)
    context = fit_context_projection(vectors, conversation, np.ones(len(vectors), bool))
    assert context is not None
    assert np.linalg.norm(context(new), axis=1) == pytest.approx(1)
    assert closer(context(new), topic) > 1.3 * closer(unit_vectors(new - new.mean(0)), topic)


def test_nothing_is_learned_from_conversations_that_are_no_conversations() -> None:
    random = np.random.default_rng(0)
    vectors, conversation, topic = talks(200, random)
    mixed = random.permutation(len(vectors))
    context = fit_context_projection(vectors[mixed], conversation, np.ones(len(vectors), bool))
    assert context is not None
    assert closer(context(vectors), topic) < 1.1 * closer(unit_vectors(vectors - vectors.mean(0)), topic)


@pytest.mark.parametrize("usable", [np.zeros(1200, bool), np.arange(1200) % TURNS == 0, np.arange(1200) < DIM])
def test_too_few_messages_teach_nothing(usable: np.ndarray) -> None:
    vectors, conversation, _ = talks(200, np.random.default_rng(0))
    assert fit_context_projection(vectors, conversation, usable) is None


def test_messages_that_all_say_the_same_teach_nothing() -> None:
    same = np.tile(np.eye(DIM, dtype=np.float32)[0], (100, 1))
    assert fit_context_projection(same, np.arange(100) // 5, np.ones(100, bool)) is None


def test_the_projection_is_that_of_canonical_correlations() -> None:
    """The same by whitening both sides and the singular values between them, as textbooks have it."""
    vectors, conversation, _ = talks(40, np.random.default_rng(1))
    centred = (vectors - vectors.mean(0)).astype(float)
    around = np.zeros_like(centred)
    for row, own in enumerate(conversation):
        others = [
            other
            for other in range(max(0, row - 2), min(len(centred), row + 3))
            if other != row and conversation[other] == own
        ]
        around[row] = centred[others].mean(0)

    def whitening(side: np.ndarray) -> np.ndarray:
        values, axes = np.linalg.eigh(side.T @ side)
        return (axes / np.sqrt(values + 0.3 * values.mean())) @ axes.T

    canonical, correlations, _ = np.linalg.svd(whitening(centred) @ centred.T @ around @ whitening(around))
    told = centred @ whitening(centred) @ canonical * correlations
    alike = told @ told.T / (told**2).sum() + centred @ centred.T / (centred**2).sum()
    lengths = np.sqrt(np.diag(alike))
    context = fit_context_projection(vectors, conversation, np.ones(len(vectors), bool))
    assert context is not None
    assert context(vectors) @ context(vectors).T == pytest.approx(alike / np.outer(lengths, lengths), abs=1e-4)


def test_only_some_conversations_of_very_many_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnlens.encoders.context_projection.MOST_TAUGHT", 600)
    vectors, conversation, _ = talks(300, np.random.default_rng(0))
    broken = vectors.copy()
    broken[conversation % 4 != 0] = np.nan
    context = fit_context_projection(broken, conversation, np.ones(len(vectors), bool))
    assert context is not None and np.isfinite(context.matrix).all() and context.messages == len(vectors)
