import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer

import turnlens
from closeness import assert_same_vectors
from turnlens import evaluation, training

from .command_line import fail, run, succeed


def test_convert_train_evaluate_embed(chats, tiny_encoder_path, tmp_path) -> None:
    short = ("--encoder", tiny_encoder_path, "--max-steps", 2, "--set", "batch_size=4")
    assert "Wrote 30 conversations" in succeed("convert", chats, "--output", tmp_path / "all.jsonl.gz")
    succeed("train", tmp_path / "all.jsonl.gz", *short, "--method", "adaptation", "--output", tmp_path / "adapted")
    succeed("train", tmp_path / "all.jsonl.gz", *short, "--method", "dialogue-cse", "--output", tmp_path / "model")
    output = succeed("evaluate", tmp_path / "model", chats, "--output", tmp_path / "figures.json", "--max-queries", 20)
    assert "MAP" in output and "MRR" in output
    figures = json.loads((tmp_path / "figures.json").read_text())["semantic_retrieval"]
    low, high = figures["map_interval"]
    assert low <= figures["map"] <= high
    assert "Wrote" in succeed("embed", chats, "--model", tmp_path / "model", "--output", tmp_path / "vectors.parquet")
    table = pq.read_table(tmp_path / "vectors.parquet")
    assert table.column_names == ["id", "turn", "role", "text", "vector"]
    rows = table.to_pylist()
    messages = [message for row in turnlens.sample_conversations(30) for message in row["messages"]]
    assert [row["text"] for row in rows] == [message["content"] for message in messages]
    encoder = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    assert_same_vectors(rows[5]["vector"], encoder.encode(rows[5]["text"]))


def test_dialogues_from_training_to_figures(chats, tiny_encoder_path, tmp_path) -> None:
    short = ("--encoder", tiny_encoder_path, "--max-steps", 1, "--set", "negatives_per_dialogue=2")
    succeed("train", chats, *short, "--method", "dial2vec", "--output", tmp_path / "model")
    arguments = ("--level", "conversation", "--pooling", "interlocutor", "--output", tmp_path / "dialogues.parquet")
    succeed("embed", chats, "--model", tmp_path / "model", *arguments)
    table = pq.read_table(tmp_path / "dialogues.parquet")
    assert table.column_names == ["id", "vector"] and table.num_rows == 30
    tasks = ("domain-categorization", "semantic-relatedness", "conversation-retrieval", "semantic-retrieval")
    names = [argument for task in tasks for argument in ("--task", task)]
    succeed("evaluate", tmp_path / "model", chats, *names, "--output", tmp_path / "figures.json")
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert 0 < figures["domain_categorization"]["purity"] <= 100
    assert figures["semantic_relatedness"]["spearman"] <= figures["semantic_relatedness"]["spearman_best"]
    assert {"map", "mrr"} <= figures["conversation_retrieval"].keys() & figures["semantic_retrieval"].keys()


def test_recipe_file_and_settings(chats, tiny_encoder_path, tmp_path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('method = "siamese"\nmax_steps = 5\nbatch_size = 4\n')
    arguments = ("--encoder", tiny_encoder_path, "--method", recipe, "--max-steps", 1, "--set", "negatives=2")
    succeed("train", chats, *arguments, "--output", tmp_path / "model")
    record = json.loads((tmp_path / "model" / "training.json").read_text())["recipe"]
    assert (record["context"], record["max_steps"], record["batch_size"], record["negatives"]) == ("single", 1, 4, 2)


@pytest.mark.slow
def test_the_demo_reports_both_encoders_and_writes_the_model(tmp_path, monkeypatch, tiny_encoder) -> None:
    monkeypatch.setattr("turnlens.cli.demo_job.load_encoder", lambda: tiny_encoder)
    arguments = ("demo", "--output", tmp_path / "demo", "--conversations", 80, "--max-steps", 1)
    output = succeed(*arguments)
    assert "untouched" in output and "trained" in output and "next message" in output
    assert re.search(r"before training, \S+ \(\S+ to \S+\) after it \(95 % intervals; .+ p = ", output)
    assert (tmp_path / "demo" / "model" / "modules.json").is_file()
    assert run(*arguments).exit_code == 1
    monkeypatch.setattr(
        "turnlens.cli.demo_job.train", lambda *data, **how: tiny_encoder if how["force"] else pytest.fail("not forced")
    )
    assert "Intents of unseen messages" in succeed(*arguments, "--force")


def test_the_demo_leaves_out_conversations_of_which_training_has_seen_every_message(
    tmp_path, monkeypatch, tiny_encoder
) -> None:
    from turnlens.cli import demo_job

    def repeats(count: int, seed: int) -> Dataset:
        rows = turnlens.sample_conversations(count, seed=seed).to_list()
        return Dataset.from_list([{**row, "messages": row["messages"][:1]} for row in rows])

    monkeypatch.setattr(demo_job, "sample_conversations", repeats)
    monkeypatch.setattr(demo_job, "load_encoder", lambda: tiny_encoder)
    monkeypatch.setattr(demo_job, "train", lambda *data, **how: tiny_encoder)
    before, after, p = demo_job.run_demo(tmp_path / "demo", conversations=400)
    assert 0 < len(before.queries) < 80 and before.map == after.map and p == 1


@pytest.mark.slow
def test_a_reply_head_from_stored_vectors_to_replies(chats, tiny_encoder_path, tmp_path) -> None:
    vectors, model = tmp_path / "vectors.parquet", tmp_path / "model"
    succeed("embed", chats, "--model", tiny_encoder_path, "--output", vectors)
    method = ("--method", "reply-head", "--set", "batch_size=8", "--set", "epochs=1")
    succeed("train", vectors, *method, "--encoder", tiny_encoder_path, "--output", model)
    output = succeed("reply", model, "--candidates", chats, "--conversation", chats, "--top", 3)
    assert output.count("\n") >= 4
    output = succeed(
        "papers", "plan", model, "--candidates", chats, "--conversation", chats, "--goal", "thanks", "--top", 3
    )
    assert output.count("\n") >= 4
    output = succeed("evaluate", model, chats, "--task", "next-message")
    assert "composed" in output
    assert "held out" in fail("train", vectors, *method, "--output", tmp_path / "other", "--set", f"validation={chats}")


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


@pytest.mark.slow
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
