"""Groups of requests that do not name a topic are dissolved."""

from __future__ import annotations

import numpy as np
import pytest

from turnlens._utils.vectors import unit_vectors
from turnlens.groups.vague_groups import dissolve_vague_groups

TOPICS = [["bag", "suitcase"], ["seat", "row"], ["refund", "money"]]
FEELINGS = ["great", "awful", "never", "love", "today", "again"]


def requests(random: np.random.Generator) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Thirty about each topic, with feelings, and thirty with feelings alone; all feelings are near each other."""
    texts, labels, vectors = [], [], []
    for group in range(4):
        for number in range(30):
            feelings = random.choice(FEELINGS, 3, replace=False).tolist()
            texts.append(" ".join([*feelings, *([TOPICS[group][number % 2]] if group < 3 else [])]))
            labels.append(group)
            vectors.append(np.eye(4)[group] + 0.2 * random.standard_normal(4))
    return texts, np.asarray(labels), unit_vectors(np.asarray(vectors, np.float32))


def test_requests_without_a_topic_are_in_no_group() -> None:
    texts, labels, vectors = requests(np.random.default_rng(0))
    kept = dissolve_vague_groups(labels, vectors, texts)
    assert (kept[labels < 3] == labels[labels < 3]).all()
    assert (kept[labels == 3] == -1).all()


@pytest.mark.parametrize("word", ["bag", "[NAME] bag"])
def test_requests_with_a_topic_leave_vague_groups(word: str) -> None:
    texts, labels, vectors = requests(np.random.default_rng(0))
    row = int(np.flatnonzero(labels == 3)[0])
    texts[row] += f" {word}"
    assert dissolve_vague_groups(labels, vectors, texts)[row] == 0


def test_groups_join_larger_ones_of_their_topic() -> None:
    texts, labels, vectors = requests(np.random.default_rng(0))
    short = np.flatnonzero(labels == 0)[:8]
    vectors[short] = np.eye(4, dtype=np.float32)[3]
    texts, labels, vectors = texts[:90], labels[:90].copy(), vectors[:90]
    labels[short] = 3
    assert (dissolve_vague_groups(labels, vectors, texts)[short] == 0).all()


def test_groups_stay_whose_requests_share_no_word() -> None:
    texts, labels, vectors = ["one", "two", "three", "four"], np.asarray([0, 0, 1, 1]), np.eye(4, dtype=np.float32)
    assert (dissolve_vague_groups(labels, vectors, texts) == labels).all()
