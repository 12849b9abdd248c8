from __future__ import annotations

import torch

import turnlens

from .command_line import run, succeed


def test_two_models_become_one(chats, tiny_encoder_path, tmp_path) -> None:
    models = [tmp_path / name for name in ("cse", "context")]
    for model, method in zip(models, ("dialogue-cse", "in-context")):
        start = ("--method", method, "--encoder", tiny_encoder_path, "--max-steps", 2, "--output", model)
        succeed("train", chats, *start)
    output = tmp_path / "both"
    succeed("model", "merge", *models, "--model", tiny_encoder_path, "--output", output)
    start, one, other, both = (
        turnlens.load_encoder(path, device="cpu").state_dict() for path in (tiny_encoder_path, *models, output)
    )
    assert any(not torch.equal(both[name], start[name]) for name in start)
    assert all(torch.allclose(both[name], (one[name] + other[name]) / 2, atol=1e-6) for name in start)
    assert "exists already" in run("model", "merge", *models, "--model", tiny_encoder_path, "--output", output).output
    succeed("model", "merge", *models, "--model", tiny_encoder_path, "--output", tmp_path / "sum", "--scale", 1)
    added = turnlens.load_encoder(tmp_path / "sum", device="cpu").state_dict()
    assert all(torch.allclose(added[name], one[name] + other[name] - start[name], atol=1e-6) for name in start)


def test_a_model_is_not_overwritten_by_the_merger(tiny_encoder_path, tmp_path) -> None:
    done = run("model", "merge", tiny_encoder_path, "--output", tiny_encoder_path, "--force")
    assert done.exit_code and tiny_encoder_path.is_dir()
