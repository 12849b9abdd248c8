import pytest
import torch
from sentence_transformers import SentenceTransformer

from turnlens.encoders.transformer import transformer_of
from turnlens.papers.triple_encoders.views import add_views
from turnlens.training.merging import merge_weights


def moved(path, by: float) -> SentenceTransformer:
    encoder = SentenceTransformer(str(path), device="cpu")
    with torch.no_grad():
        for weight in encoder.parameters():
            weight += by
    return encoder


@pytest.mark.parametrize(("scale", "by"), [({}, 0.25), ({"scale": 1.0}, 0.5)])
def test_two_trainings_are_averaged_or_added(tiny_encoder, tiny_encoder_path, scale: dict, by: float) -> None:
    start = {name: weight.clone() for name, weight in tiny_encoder.named_parameters()}
    merged = merge_weights(tiny_encoder, [moved(tiny_encoder_path, 1.0), moved(tiny_encoder_path, -0.5)], **scale)
    for name, weight in merged.named_parameters():
        torch.testing.assert_close(weight, start[name] + by)


@pytest.mark.parametrize("scale", [0.0, -1.0, 3.0])
def test_a_scale_out_of_range(tiny_encoder, tiny_encoder_path, scale: float) -> None:
    with pytest.raises(ValueError, match="scale must be above 0"):
        merge_weights(tiny_encoder, [moved(tiny_encoder_path, 1.0)], scale)


def test_added_tokens_are_left_out(tiny_encoder, tiny_encoder_path) -> None:
    rows = len(transformer_of(tiny_encoder).get_input_embeddings().weight)
    with_tokens = SentenceTransformer(str(tiny_encoder_path), device="cpu")
    add_views(with_tokens, "c3l")
    averaged = merge_weights(tiny_encoder, [with_tokens, moved(tiny_encoder_path, 0.0)])
    assert len(transformer_of(averaged).get_input_embeddings().weight) == rows


def test_encoders_of_different_shape(tiny_encoder) -> None:
    other = SentenceTransformer(modules=list(tiny_encoder)[1:], device="cpu")
    with pytest.raises(ValueError, match="not trained from the same one"):
        merge_weights(tiny_encoder, [other])
    with pytest.raises(ValueError, match="at least one"):
        merge_weights(tiny_encoder, [])
