"""Merging models that were trained from the same encoder."""

import pytest
import torch

import turnlens


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
