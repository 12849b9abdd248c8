from __future__ import annotations

from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

from turnlens.encoders.shipped import apply_delta
from turnlens.encoders.shipped.delta import DELTA_FILE, compressed, restored, save_delta
from turnlens.encoders.transformer import transformer_of

MATRIX, VECTOR = "encoder.layer.0.output.dense.weight", "encoder.layer.0.output.dense.bias"


@pytest.fixture
def learned(tiny_encoder: SentenceTransformer) -> dict[str, Tensor]:
    """Differences of a matrix of rank 2 and of a vector, small beside the weights."""
    generator = torch.Generator().manual_seed(0)
    weights = transformer_of(tiny_encoder).state_dict()
    out, dim = weights[MATRIX].shape
    first, second = (torch.randn(out, 1, generator=generator) @ torch.randn(1, dim, generator=generator) for _ in "ab")
    return {MATRIX: 0.01 * first + 0.001 * second, VECTOR: 0.01 * torch.randn(out, generator=generator)}


@pytest.fixture
def folder(tiny_encoder: SentenceTransformer, learned: dict[str, Tensor], tmp_path: Path) -> Path:
    save_delta(tmp_path, transformer_of(tiny_encoder), learned, largest=10_000)
    return tmp_path


def test_what_was_learned_is_added_to_the_weights(
    tiny_encoder: SentenceTransformer, learned: dict[str, Tensor], folder: Path
) -> None:
    weights = transformer_of(tiny_encoder).state_dict()
    before = {name: weight.clone() for name, weight in weights.items()}
    assert apply_delta(tiny_encoder, folder) is tiny_encoder
    for name, weight in weights.items():
        expected = before[name] + learned.get(name, 0)
        torch.testing.assert_close(weight, expected, rtol=0, atol=1e-3)
        assert name in learned or torch.equal(weight, before[name])


def test_fewer_bytes_keep_the_largest_component(learned: dict[str, Tensor]) -> None:
    cost = sum(learned[MATRIX].shape) + 4
    rough = compressed(learned, largest=cost)
    assert sum(tensor.nbytes for name, tensor in rough.items() if name.startswith(MATRIX)) == cost
    errors = [
        float((restored(compressed(learned, largest))[MATRIX] - learned[MATRIX]).norm() / learned[MATRIX].norm())
        for largest in (0, cost, 2 * cost)
    ]
    assert errors[0] == 1 and errors[0] > 4 * errors[1] > 16 * errors[2]


def test_the_order_of_sums_changes_no_bit() -> None:
    differences = {"matrix": 0.01 * torch.randn(48, 64, generator=torch.Generator().manual_seed(0))}
    tensors = compressed(differences, largest=10_000)
    assert len(tensors["matrix.scale"]) > 40
    backwards = {name: tensor.flip(0) for name, tensor in tensors.items()}
    assert torch.equal(restored(tensors)["matrix"], restored(backwards)["matrix"])


def test_bytes_go_to_the_largest_errors(learned: dict[str, Tensor]) -> None:
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
    before = transformer_of(tiny_encoder).state_dict()[MATRIX].clone()
    with pytest.raises(ValueError, match=r"delta\.safetensors is damaged"):
        apply_delta(tiny_encoder, folder)
    assert torch.equal(transformer_of(tiny_encoder).state_dict()[MATRIX], before)
