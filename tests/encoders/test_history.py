import numpy as np
import pytest

from closeness import assert_same_vectors
from turnlens.encoders.history import add_history, add_surroundings


def literal(vectors: np.ndarray, share: float, decay: float) -> np.ndarray:
    """The sum of the docstring for one conversation, term by term."""
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found = np.stack(
        [
            unit + share * sum(decay ** (back - 1) * units[turn - back] for back in range(1, turn + 1))
            for turn, unit in enumerate(units)
        ]
    )
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def literal_around(vectors: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """The sum of `add_surroundings` for one conversation, term by term."""
    units = (vectors - mean) / np.linalg.norm(vectors - mean, axis=1, keepdims=True)
    turns = range(len(units))
    return np.stack(
        [
            units[turn] + 0.5 * sum(0.7 ** (abs(turn - other) - 1) * units[other] for other in turns if other != turn)
            for turn in turns
        ]
    )


@pytest.mark.parametrize(("share", "decay"), [(0.5, 0.5), (1.0, 0.0), (2.0, 1.0), (0.0, 0.5)])
def test_each_conversation_by_itself_as_the_formula_says(share: float, decay: float) -> None:
    turns = [3, 0, 1, 6]
    vectors = np.random.default_rng(0).normal(size=(10, 5)).astype(np.float32)
    found = add_history(vectors, turns, share, decay)
    parts = [literal(vectors[start:end], share, decay) for start, end in ((0, 3), (3, 4), (4, 10))]
    assert_same_vectors(found, np.concatenate(parts))
    assert found.dtype == np.float32


def test_what_is_said_around_as_the_formula_says() -> None:
    vectors = np.random.default_rng(0).normal(1.0, size=(10, 5)).astype(np.float32)
    found = add_surroundings(vectors, [3, 0, 1, 6])
    parts = [literal_around(vectors[start:end], vectors.mean(axis=0)) for start, end in ((0, 3), (3, 4), (4, 10))]
    assert_same_vectors(found, np.concatenate(parts))
    with pytest.raises(ValueError, match="turns must sum up to the 10 vectors, got a sum of 9"):
        add_surroundings(vectors, [9])


def test_nothing_at_all() -> None:
    assert add_history(np.zeros((0, 4)), []).shape == (0, 4)
    assert not add_history(np.zeros((2, 4)), [2]).any()


@pytest.mark.parametrize(
    ("turns", "how", "message"),
    [
        ([2, 2], {}, "turns must sum up to the 3 vectors, got a sum of 4"),
        ([4, -1], {}, "turns must"),
        ([3], {"share": -1.0}, "share must be 0 or more"),
        ([3], {"decay": 1.5}, "decay between 0 and 1"),
    ],
)
def test_bad_arguments(turns: list[int], how: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        add_history(np.ones((3, 4)), turns, **how)
