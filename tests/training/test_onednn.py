import platform
from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from closeness import assert_same_vectors
from turnlens import _compat
from turnlens.training import onednn
from turnlens.training.onednn import replaced_forward, through_onednn, transformer_through_onednn

CPU = torch.device("cpu")

pytestmark = pytest.mark.skipif(not _compat.has_onednn_linear(), reason="torch is built without MKL or oneDNN")


@pytest.fixture
def through(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts what goes through oneDNN, on any processor."""
    counted = [0]
    linear = _compat.onednn_linear

    def count(*arguments: Tensor) -> Tensor:
        counted[0] += 1
        return linear(*arguments)

    monkeypatch.setattr(_compat, "onednn_linear", count)
    monkeypatch.setattr(onednn, "is_quicker", lambda: True)
    return counted


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(6, 24), (3, 5, 24), (1, 24)])
def test_results_and_gradients_are_those_of_torch(bias: bool, shape: tuple[int, ...], through: list[int]) -> None:
    layer, x = nn.Linear(24, 16, bias=bias), torch.randn(shape, requires_grad=True)

    def run() -> list[Tensor]:
        result = layer(x)
        return [result, *torch.autograd.grad(result.square().sum(), [x, *layer.parameters()])]

    expected = run()
    assert through == [0]
    with through_onednn(CPU):
        output = run()
    assert through == [3]  # forward, and two gradients
    for one, other in zip(output, expected, strict=True):
        assert_same_vectors(one.flatten(), other.flatten())


def test_frozen_weights_cost_no_gradient(through: list[int]) -> None:
    layer, x = nn.Linear(24, 16).requires_grad_(False), torch.randn(5, 24, requires_grad=True)
    with through_onednn(CPU):
        layer(x).sum().backward()
    assert through == [2] and layer.weight.grad is None


def test_half_precision_is_left_alone(through: list[int]) -> None:
    layer = nn.Linear(24, 16)
    with through_onednn(CPU), torch.autocast("cpu", torch.bfloat16):
        assert layer(torch.randn(5, 24)).dtype == torch.bfloat16
    with through_onednn(CPU):
        layer.bfloat16()(torch.randn(5, 24, dtype=torch.bfloat16))
    assert through == [0]


def test_a_transformer_trains_through_it(tiny_encoder: SentenceTransformer, through: list[int]) -> None:
    features = tiny_encoder.preprocess(["hello there"])
    weight = tiny_encoder[0].auto_model.encoder.layer[0].output.dense.weight
    gradients = []
    tiny_encoder.eval()

    def backward() -> None:  # of a part: as the last layer's vectors all have one length, all of it has no gradient
        tiny_encoder(dict(features))["token_embeddings"][..., :8].square().sum().backward()

    with transformer_through_onednn(tiny_encoder):
        backward()
        gradients.append(weight.grad.clone())
    assert through[0] > 0 and "forward" not in tiny_encoder[0].__dict__
    through[0], weight.grad = 0, None
    backward()
    assert through == [0]
    assert_same_vectors(gradients[0].flatten(), weight.grad.flatten())


@pytest.mark.parametrize(("maker", "is_quicker"), [("GenuineIntel", False), ("AuthenticAMD", True)])
def test_processors_made_by_intel_keep_mkl(maker: str, is_quicker: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "is_file", lambda path: False)  # as where there is no /proc/cpuinfo
    monkeypatch.setattr(platform, "processor", lambda: f"Family 6 Model 142 Stepping 10, {maker}")
    onednn._is_made_by_intel.cache_clear()
    assert onednn.is_quicker() is is_quicker
    onednn._is_made_by_intel.cache_clear()


def test_a_replaced_forward_within_another_leaves_the_first() -> None:
    layer = nn.Identity()
    with replaced_forward(layer, lambda x: x + 1):
        with replaced_forward(layer, lambda x: x + 2):
            assert layer(0) == 2
        assert layer(0) == 1
    assert layer(0) == 0
