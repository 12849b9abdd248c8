import pytest
import torch
from sentence_transformers import SentenceTransformer

import turnlens
from turnlens.encoders.transformer import transformer_of
from turnlens.papers.triple_encoders.views import add_views
from turnlens.training.merging import merge_weights


def moved(path, by: float) -> SentenceTransformer:
    encoder = SentenceTransformer(str(path), device="cpu")
    with torch.no_grad():
        for weight in encoder.parameters():
            weight += by
    return encoder


def test_merged_weights_are_averages_or_sums(conversations, tiny_encoder_path, tmp_path) -> None:
    models = [tmp_path / name for name in ("one", "other")]
    for seed, model in enumerate(models):
        settings = {"max_steps": 2, "batch_size": 8, "seed": seed}
        turnlens.train(conversations, method="in-context", settings=settings, encoder=tiny_encoder_path, output=model)
    output = tmp_path / "both"
    turnlens.merge(models, base=tiny_encoder_path, output=output)
    start, one, other, both = (
        turnlens.load_encoder(path, device="cpu").state_dict() for path in (tiny_encoder_path, *models, output)
    )
    assert any(not torch.equal(both[name], start[name]) for name in start)
    assert all(torch.allclose(both[name], (one[name] + other[name]) / 2, atol=1e-6) for name in start)
    with pytest.raises(FileExistsError, match="exists already"):
        turnlens.merge(models, base=tiny_encoder_path, output=output)
    added = turnlens.merge(models, base=tiny_encoder_path, scale=1).state_dict()
    assert all(torch.allclose(added[name], one[name] + other[name] - start[name], atol=1e-6) for name in start)


def test_a_merger_overwrites_no_model_that_it_reads(tiny_encoder_path) -> None:
    with pytest.raises((ValueError, FileExistsError)):
        turnlens.merge([tiny_encoder_path], output=tiny_encoder_path, force=True)
    assert tiny_encoder_path.is_dir()


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
