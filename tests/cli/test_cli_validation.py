import json
from pathlib import Path
from typing import Any

import pytest
from sentence_transformers import SentenceTransformer

import turnlens
from turnlens import evaluation, training

from .command_line import fail, succeed


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    path = tmp_path / "dev.jsonl"
    turnlens.sample_conversations(20, seed=1).to_json(str(path))
    return path


def set_options(**values: Any) -> list[str]:
    """The options ``--set name=value``."""
    return [part for name, value in values.items() for part in ("--set", f"{name}={value}")]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The calls of the evaluator and of training, neither of which runs."""
    seen: dict[str, Any] = {}

    def evaluator(*positional: Any, **named: Any) -> str:
        seen["read"] = named.pop("read")
        seen["validation"] = positional, named
        return "the evaluator"

    monkeypatch.setattr(evaluation, "TaskEvaluator", evaluator)
    monkeypatch.setattr(
        "turnlens.training.train.train", lambda *positional, **named: seen.update(training=(positional, named))
    )
    return seen


def test_the_best_step_on_the_validation_set_is_written(chats, dev, tiny_encoder_path, tmp_path) -> None:
    short = set_options(batch_size=4, checkpoint_steps=2, learning_rate=0.01)
    steps = ("--method", "dialogue-cse", "--max-steps", 4, *short)
    choose = set_options(validation=dev, task="semantic-retrieval", max_queries=20)
    succeed("train", chats, "--encoder", tiny_encoder_path, *steps, *choose, "--output", tmp_path / "model")
    record = json.loads((tmp_path / "model" / "training.json").read_text())["evaluations"]
    assert [row["step"] for row in record["steps"]] == [2, 4]
    assert record["best"] == max(row["value"] for row in record["steps"])
    evaluator = evaluation.TaskEvaluator("semantic-retrieval", dev, max_queries=20)
    written = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    assert evaluator(written)[record["metric"]] == pytest.approx(record["best"])


@pytest.mark.parametrize(
    ("method", "task"),
    [
        ("dialogue-cse", "semantic-retrieval"),
        ("siamese", "semantic-retrieval"),
        ("dial2vec", "conversation-retrieval"),
        ("ccl", "next-message"),
        ("c3l", "next-message"),
    ],
)
def test_the_task_follows_from_what_the_method_embeds(method, task, chats, dev, asked, tmp_path) -> None:
    options = ("--method", method, "--seed", 3, *set_options(validation=dev))
    succeed("train", chats, *options, "--output", tmp_path / "model")
    assert asked["validation"] == ((task, dev), {"seed": 3})
    (conversations,), named = asked["training"]
    assert len(conversations) == 30
    assert named == {
        "method": training.get_recipe(method, settings={"seed": 3}),
        "encoder": None,
        "output": tmp_path / "model",
        "resume": False,
        "force": False,
        "evaluator": "the evaluator",
    }


def test_the_options_of_the_task_are_passed_on(chats, dev, asked, tmp_path) -> None:
    options = set_options(task="semantic-relatedness", label="act", conversation_label="topic", max_queries=7)
    succeed("train", chats, *set_options(validation=dev), *options, "--output", tmp_path / "model")
    assert len(asked["read"](dev)) == 20
    settings = {"seed": 0, "label": "act", "conversation_label": "topic", "max_queries": 7}
    assert asked["validation"] == (("semantic-relatedness", dev), settings)


def test_without_a_validation_set_the_last_step_counts(chats, asked, tmp_path) -> None:
    succeed("train", chats, "--output", tmp_path / "model")
    assert "validation" not in asked and asked["training"][1]["evaluator"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "next-message"}, "task without validation: add --set validation=FILE"),
        ({"max_queries": 5, "label": "act"}, "label, max_queries without validation"),
        ({"conversation_label": "topic"}, "conversation_label without validation"),
        ({"validation": "nowhere.jsonl"}, "no such file or folder"),
        ({"validation": "DEV", "task": "translation"}, "unknown task 'translation'"),
        ({"validation": "DEV", "task": "dialogue-sts"}, "dev.jsonl"),
        ({"validation": "DEV", "label": "mood"}, "mood"),
        ({"workers": "many"}, "workers must be a whole number"),
    ],
)
def test_mistakes_are_told_before_training(options, message, chats, dev, tmp_path, monkeypatch) -> None:
    def train(*positional: Any, **named: Any) -> None:
        raise AssertionError("training has started")

    monkeypatch.setattr(training, "train", train)
    options = {name: dev if value == "DEV" else value for name, value in options.items()}
    assert message in fail("train", chats, *set_options(**options), "--output", tmp_path / "model")
    assert not list(tmp_path.glob("model*"))
