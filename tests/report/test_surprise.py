from typing import Any

import numpy as np
import pytest

from turnlens._utils.vectors import unit_vectors
from turnlens.groups.pipeline import keys_of
from turnlens.report.corpus import Corpus
from turnlens.report.surprise import LEAST_CONVERSATIONS, measure_surprise

DIM = 16


def corpus(turns: list[int], seed: int = 0) -> Corpus:
    """Conversations of two roles in which each message is the one before it, turned by a fixed rotation, and noise."""
    random = np.random.default_rng(seed)
    rotation = np.linalg.qr(random.standard_normal((DIM, DIM)))[0]
    vectors = unit_vectors(random.standard_normal((sum(turns), DIM))).astype(np.float32)
    turn = np.concatenate([np.arange(count) for count in turns])
    for row in np.flatnonzero(turn):
        vectors[row] = unit_vectors(vectors[row - 1] @ rotation + 0.05 * vectors[row])
    fields: dict[str, Any] = dict.fromkeys(Corpus.__dataclass_fields__)
    return Corpus(
        **{
            **fields,
            "ids": [str(number) for number in range(len(turns))],
            "turns": np.array(turns),
            "texts": [f"text {row}" for row in range(len(turn))],
            "conversation": np.repeat(np.arange(len(turns)), turns),
            "turn": turn,
            "roles": ["user", "agent", "manager"],
            "role": turn % 2,
            "vectors": vectors,
        }
    )


def test_what_usually_follows_is_expected() -> None:
    talks = corpus([2 + number % 9 for number in range(400)])
    strange = np.random.default_rng(1).choice(np.flatnonzero(talks.turn == 1), 20, replace=False)
    talks.vectors[strange] = unit_vectors(np.random.default_rng(2).standard_normal((20, DIM)))
    found = measure_surprise(talks, seed=0)
    assert (np.isnan(found) == (talks.turn == 0)).all()
    usual = np.setdiff1d(np.flatnonzero(talks.turn > 0), [*strange, *(strange + 1)])
    assert found[usual].mean() < 0.02 and 0.25 < found[strange].mean() < 0.75


def test_halves_rank_each_other() -> None:
    from sklearn.linear_model import Ridge

    talks = corpus([4] * 240)
    talks.vectors[:] = unit_vectors(talks.vectors + np.random.default_rng(3).standard_normal(talks.vectors.shape) / 4)
    found = measure_surprise(talks, seed=5)
    half = (keys_of(talks.ids, 5) & 1)[talks.conversation]
    learned = np.flatnonzero((half == 1) & (talks.turn > 0))
    mean = talks.vectors[learned].mean(0)

    def before(row: int) -> np.ndarray:
        sums = np.zeros((2, DIM))
        for distance in range(1, talks.turn[row] + 1):
            sums[distance % 2] += 0.7 ** (distance - 1) * (talks.vectors[row - distance] - mean)
        return sums.ravel()

    known, messages = np.array([before(row) for row in learned]), talks.vectors[learned] - mean
    ridge = 8000 / len(learned)
    scatter = np.square(known - known.mean(0)).sum() / known.shape[1]
    guess = Ridge(alpha=ridge * scatter).fit(known, messages)
    spread = messages.T @ messages
    values, axes = np.linalg.eigh(spread + ridge * np.trace(spread) / DIM * np.eye(DIM))
    whitening = axes / np.sqrt(values) @ axes.T
    for row in np.flatnonzero((half == 0) & (talks.turn > 0))[:40]:
        alike = np.flatnonzero((half == 0) & (talks.role == talks.role[row]))
        shown = unit_vectors((talks.vectors[alike] - mean) @ whitening)
        scores = shown @ whitening @ (guess.predict([before(row)])[0] - messages.mean(0))
        own = scores[alike == row][0]
        assert found[row] == pytest.approx((scores > own).mean() + 0.5 / len(alike), abs=0.02)


def test_seeds_fix_samples_and_few_replies_give_nothing() -> None:
    talks = corpus([6] * 300)
    talks.role[talks.conversation < 12] = 2
    first, second = (measure_surprise(talks, seed=1) for _ in range(2))
    assert np.array_equal(first, second, equal_nan=True)
    assert ((first[~np.isnan(first)] >= 0) & (first[~np.isnan(first)] <= 1)).all()
    talks.role[talks.role == 2] = 0
    talks.role[5] = 2  # the only one of its role
    assert np.isnan(measure_surprise(talks, seed=1)[5])


def test_too_few_conversations_give_no_surprise() -> None:
    assert np.isnan(measure_surprise(corpus([3] * (LEAST_CONVERSATIONS - 1) + [1] * 50), seed=0)).all()
