"""What a stopped run of a method learns whose teacher is the encoder as it was before the first step."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import turnwise
from turnwise.papers.tried.local_to_global_recipe import LocalToGlobal
from turnwise.training import stages
from turnwise.training.recipes import EncoderRecipe, InContext

SCHEDULE = {"max_steps": 4, "checkpoint_steps": 2, "learning_rate": 1e-3}


@pytest.mark.parametrize(
    "recipe",
    [
        InContext(batch_size=24, context="joined", **SCHEDULE),
        InContext(batch_size=24, **SCHEDULE),
        LocalToGlobal(batch_size=4, **SCHEDULE),
    ],
)
def test_a_stopped_run_ends_where_a_whole_one_does(
    recipe: EncoderRecipe, tiny_encoder_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def power_cut(*arguments: object) -> None:
        raise RuntimeError("power cut")

    corpus, path = turnwise.sample_conversations(24, seed=1).select_columns(["id", "messages"]), str(tiny_encoder_path)
    whole = turnwise.train(corpus, method=recipe, encoder=path, output=tmp_path / "whole").state_dict()
    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="power cut"):
        patch.setattr(stages, "interpolate_weights", power_cut)
        turnwise.train(corpus, method=recipe, encoder=path, output=tmp_path / "cut")
    # Where the next step is the third, the teacher is still the encoder before the first.
    (tmp_path / "cut.run" / "training" / "checkpoint-4" / "loss.safetensors").unlink()  # as if it was cut before
    resumed = turnwise.train(corpus, method=recipe, encoder=path, output=tmp_path / "cut", resume=True).state_dict()
    assert all(torch.equal(weight, resumed[name]) for name, weight in whole.items())
