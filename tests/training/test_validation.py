import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator

import turnlens
from turnlens.papers.dialogue_cse.recipe import DialogueCSE
from turnlens.training.collators import TextCollator

SHORT = {"batch_size": 4, "max_length": 16, "checkpoint_steps": 2, "learning_rate": 1e-3}


class Falling(BaseEvaluator):
    """Prefers the weights it saw at one call, and remembers those of all."""

    def __init__(self, best: int, greater_is_better: bool = True) -> None:
        super().__init__()
        self.primary_metric, self.greater_is_better = "figure", greater_is_better
        self.best = best
        self.seen: list[dict[str, torch.Tensor]] = []

    def __call__(self, model, output_path=None, epoch=-1, steps=-1) -> dict[str, float]:
        self.seen.append({name: tensor.clone() for name, tensor in model.state_dict().items()})
        value = -float(abs(len(self.seen) - self.best))
        return {"figure": value if self.greater_is_better else -value}

    def get_config_dict(self) -> dict[str, int]:
        return {"best": self.best}


@pytest.fixture
def train() -> Callable[..., SentenceTransformer]:
    corpus = turnlens.sample_conversations(24, seed=1).select_columns(["id", "messages"])
    return partial(turnlens.train, corpus)


def same(encoder: SentenceTransformer, weights: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(tensor, weights[name]) for name, tensor in encoder.state_dict().items())


@pytest.mark.parametrize("greater_is_better", [True, False])
def test_the_best_step_by_validation_is_kept(tiny_encoder, train, tmp_path: Path, greater_is_better: bool) -> None:
    evaluator = Falling(best=2, greater_is_better=greater_is_better)
    recipe = DialogueCSE(**SHORT, max_steps=7)
    trained = train(method=recipe, encoder=tiny_encoder, output=tmp_path / "model", evaluator=evaluator)
    assert len(evaluator.seen) == 4  # after 2, 4 and 6 steps, and the last
    assert same(trained, evaluator.seen[1])
    assert same(SentenceTransformer(str(tmp_path / "model"), device="cpu"), evaluator.seen[1])
    record = json.loads((tmp_path / "model" / "training.json").read_text())
    assert [log["step"] for log in record["evaluations"]["steps"]] == [2, 4, 6, 7]
    assert record["evaluations"]["metric"] == "figure" and record["evaluations"]["best"] == 0
    assert record["validation"] == {"evaluator": "Falling", "best": 2}


def test_the_last_step_may_be_the_best(tiny_encoder, train) -> None:
    evaluator = Falling(best=2)
    trained = train(method=DialogueCSE(**SHORT, max_steps=3), encoder=tiny_encoder, evaluator=evaluator)
    assert len(evaluator.seen) == 2
    assert same(trained, evaluator.seen[1])


@pytest.mark.slow
def test_the_best_step_with_turn_tables(tiny_encoder, train) -> None:
    evaluator = Falling(best=1)
    settings = {"max_steps": 2, "checkpoint_steps": 1, "turn_inputs": True, "negatives_per_dialogue": 1}
    recipe = turnlens.training.get_recipe("dial2vec", settings={**settings, "learning_rate": 1e-2})
    train(method=recipe, encoder=tiny_encoder, evaluator=evaluator)
    tables = [name for name in evaluator.seen[0] if "turn_tables" in name and "weight" in name]
    assert tables and any(not torch.equal(evaluator.seen[0][name], evaluator.seen[1][name]) for name in tables)


@pytest.mark.slow
def test_a_validated_run_goes_on_and_keeps_the_best(tiny_encoder_path, train, tmp_path, monkeypatch) -> None:
    train = partial(train, method=DialogueCSE(**SHORT, max_steps=6), encoder=str(tiny_encoder_path))
    expected = train(output=tmp_path / "whole", evaluator=Falling(best=1))
    original, calls = TextCollator.__call__, []

    def cut_off(self, rows):
        calls.append(rows)
        if len(calls) == 4:
            raise RuntimeError("power cut")
        return original(self, rows)

    with monkeypatch.context() as patch:
        patch.setattr(TextCollator, "__call__", cut_off)
        with pytest.raises(RuntimeError, match="power cut"):
            train(output=tmp_path / "model", evaluator=Falling(best=1))
    rest = Falling(best=1)
    rest.seen = [{}]  # the step that was evaluated before the cut
    with pytest.raises(ValueError, match=r"validation\.best: was 1, is 2"):
        train(output=tmp_path / "model", resume=True, evaluator=Falling(best=2))
    resumed = train(output=tmp_path / "model", resume=True, evaluator=rest)
    assert same(resumed, expected.state_dict())
