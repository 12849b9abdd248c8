from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from turnlens.encoders.shipped import apply_delta
from turnlens.encoders.shipped.delta import DELTA_FILE, compressed, restored, save_delta
from turnlens.encoders.transformer import state_arrays, transformer_of

MATRIX, VECTOR = "encoder.layer.0.output.dense.weight", "encoder.layer.0.output.dense.bias"


@pytest.fixture
def learned(tiny_encoder: SentenceTransformer) -> dict[str, np.ndarray]:
    """Differences of a matrix of rank 2 and of a vector, small beside the weights."""
    random = np.random.default_rng(0)
    out, dim = state_arrays(transformer_of(tiny_encoder))[MATRIX].shape
    first, second = (random.standard_normal((out, 1)) @ random.standard_normal((1, dim)) for _ in "ab")
    learned = {MATRIX: 0.01 * first + 0.001 * second, VECTOR: 0.01 * random.standard_normal(out)}
    return {name: difference.astype(np.float32) for name, difference in learned.items()}


@pytest.fixture
def folder(tiny_encoder: SentenceTransformer, learned: dict[str, np.ndarray], tmp_path: Path) -> Path:
    save_delta(tmp_path, state_arrays(transformer_of(tiny_encoder)), learned, largest=10_000)
    return tmp_path


def test_what_was_learned_is_added_to_the_weights(
    tiny_encoder: SentenceTransformer, learned: dict[str, np.ndarray], folder: Path
) -> None:
    weights = state_arrays(transformer_of(tiny_encoder))
    before = {name: weight.copy() for name, weight in weights.items()}
    assert apply_delta(tiny_encoder, folder) is tiny_encoder
    for name, weight in weights.items():
        expected = before[name] + learned.get(name, 0)
        np.testing.assert_allclose(weight, expected, rtol=0, atol=1e-3)
        assert name in learned or np.array_equal(weight, before[name])


def test_fewer_bytes_keep_the_largest_component(learned: dict[str, np.ndarray]) -> None:
    cost = sum(learned[MATRIX].shape) + 4
    rough = compressed(learned, largest=cost)
    assert sum(tensor.nbytes for name, tensor in rough.items() if name.startswith(MATRIX)) == cost
    errors = [
        np.linalg.norm(restored(compressed(learned, largest))[MATRIX] - learned[MATRIX])
        / np.linalg.norm(learned[MATRIX])
        for largest in (0, cost, 2 * cost)
    ]
    assert errors[0] == 1 and errors[0] > 4 * errors[1] > 16 * errors[2]


def test_the_order_of_sums_changes_no_bit() -> None:
    differences = {"matrix": 0.01 * np.random.default_rng(0).standard_normal((48, 64))}
    tensors = compressed(differences, largest=10_000)
    assert len(tensors["matrix.scale"]) > 40
    backwards = {name: tensor[::-1] for name, tensor in tensors.items()}
    np.testing.assert_array_equal(restored(tensors)["matrix"], restored(backwards)["matrix"])


def test_bytes_go_to_the_largest_errors(learned: dict[str, np.ndarray]) -> None:
    two = {"large": learned[MATRIX], "small": learned[MATRIX] / 1000}
    kept = compressed(two, largest=sum(learned[MATRIX].shape) + 4)
    assert len(kept["large.scale"]) == 1 and len(kept["small.scale"]) == 0


def test_weights_other_than_the_published_ones_are_refused(tiny_encoder: SentenceTransformer, folder: Path) -> None:
    apply_delta(tiny_encoder, folder)
    with pytest.raises(ValueError, match="fits other weights than this encoder's"):
        apply_delta(tiny_encoder, folder)


def test_a_damaged_file_is_refused_before_it_changes_anything(tiny_encoder: SentenceTransformer, folder: Path) -> None:
    content = bytearray((folder / DELTA_FILE).read_bytes())
    content[-1] ^= 1
    (folder / DELTA_FILE).write_bytes(content)
    before = state_arrays(transformer_of(tiny_encoder))[MATRIX].copy()
    with pytest.raises(ValueError, match=r"delta\.safetensors is damaged"):
        apply_delta(tiny_encoder, folder)
    np.testing.assert_array_equal(state_arrays(transformer_of(tiny_encoder))[MATRIX], before)
