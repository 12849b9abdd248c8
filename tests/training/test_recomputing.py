import dataclasses

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks

import turnlens
from turnlens.encoders.forward import encode_sliced, sliced_means
from turnlens.papers.baselines.dual_encoders import SingleVector
from turnlens.papers.dial2vec.recipe import Dial2vec
from turnlens.papers.dialogue_cse.recipe import DialogueCSE
from turnlens.papers.triple_encoders.recipe import CCL
from turnlens.training.encoder_modes import recomputed_activations
from turnlens.training.train import train

SHORT = {"batch_size": 4, "max_steps": 2, "max_length": 32, "frozen_layers": 0, "learning_rate": 1e-3}


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [DialogueCSE, SingleVector, CCL, Dial2vec])
def test_the_weights_are_the_same_to_the_last_bit(recipe, tiny_encoder_path) -> None:
    corpus = turnlens.sample_conversations(12, seed=1).select_columns(["id", "messages"])
    kept = train(corpus, method=recipe(**SHORT), encoder=tiny_encoder_path)
    again = train(corpus, method=dataclasses.replace(recipe(**SHORT), recompute=True), encoder=tiny_encoder_path)
    for name, weight in kept.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name]), name
    assert "forward" not in vars(again[0])


def test_little_is_kept_for_the_backward_pass(tiny_encoder) -> None:
    rows = torch.randint(5, 40, (64, 16), generator=torch.Generator().manual_seed(0))
    words = tiny_encoder.transformers_model.get_input_embeddings().weight

    def kept_bytes(recompute: bool) -> tuple[int, torch.Tensor]:
        kept: dict[int, int] = {}

        def keep(tensor: torch.Tensor) -> torch.Tensor:
            if not isinstance(tensor, torch.nn.Parameter):
                kept[tensor.data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        tiny_encoder.zero_grad()
        with recomputed_activations(tiny_encoder, recompute), saved_tensors_hooks(keep, lambda tensor: tensor):
            means = sliced_means(encode_sliced(tiny_encoder, rows, torch.ones_like(rows), tokens_per_slice=128))
            found = sum(kept.values())
            means.square().sum().backward()
        return found, words.grad.clone()

    (everything, expected), (little, gradient) = kept_bytes(False), kept_bytes(True)
    assert little < everything / 10
    assert torch.equal(expected, gradient)
