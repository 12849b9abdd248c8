from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from datasets import config
from sentence_transformers import SentenceTransformer
from typer.testing import CliRunner, Result

import turnwise
from turnwise.cli.main import app
from turnwise.encoders import embed

COMMANDS = ("demo", "convert", "adapt", "train", "embed", "evaluate")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    path = tmp_path / "chats.jsonl"
    turnwise.sample_conversations(30).to_json(str(path))
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def succeed(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command: str) -> None:
    assert f"Example: turnwise {command}" in " ".join(succeed(command, "--help").split())


def test_convert_train_evaluate_embed(chats, tiny_encoder_path, tmp_path) -> None:
    short = ("--encoder", tiny_encoder_path, "--max-steps", 2, "--batch-size", 4)
    assert "Wrote 30 conversations" in succeed("convert", chats, "--out", tmp_path / "all.jsonl.gz")
    succeed("adapt", tmp_path / "all.jsonl.gz", *short, "--output", tmp_path / "adapted")
    succeed("train", tmp_path / "all.jsonl.gz", *short, "--method", "dialogue-cse", "--output", tmp_path / "model")
    output = succeed("evaluate", tmp_path / "model", chats, "--json", tmp_path / "figures.json", "--max-queries", 20)
    assert "MAP" in output and "MRR" in output
    figures = json.loads((tmp_path / "figures.json").read_text())["semantic_retrieval"]
    low, high = figures["map_interval"]
    assert low <= figures["map"] <= high
    assert "Wrote" in succeed("embed", chats, "--model", tmp_path / "model", "--output", tmp_path / "vectors.parquet")
    table = pq.read_table(tmp_path / "vectors.parquet")
    assert table.column_names == ["id", "turn", "role", "text", "vector"]
    rows = table.to_pylist()
    messages = [message for row in turnwise.sample_conversations(30) for message in row["messages"]]
    assert [row["text"] for row in rows] == [message["content"] for message in messages]
    encoder = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    np.testing.assert_allclose(rows[5]["vector"], encoder.encode(rows[5]["text"]), rtol=1e-4, atol=1e-5)


def test_embedding_goes_on_where_it_was_cut_off(chats, tiny_encoder_path, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(embed, "_CONVERSATIONS_IN_PART", 10)
    arguments = ("embed", chats, "--model", tiny_encoder_path, "--output")
    succeed(*arguments, tmp_path / "whole.parquet")
    embedded, seen = embed.encode_utterances, []

    def cut_off(*given):
        seen.append(given)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return embedded(*given)

    monkeypatch.setattr(embed, "encode_utterances", cut_off)
    result = run(*arguments, tmp_path / "cut.parquet")
    assert result.exit_code == 130 and "--resume" in result.output
    assert not (tmp_path / "cut.parquet").exists()
    succeed(*arguments, tmp_path / "cut.parquet", "--resume")
    assert len(seen) == 4
    assert pq.read_table(tmp_path / "cut.parquet").equals(pq.read_table(tmp_path / "whole.parquet"))
    assert not (tmp_path / "cut.parquet.run").exists()


def test_dialogues_from_training_to_figures(chats, tiny_encoder_path, tmp_path) -> None:
    short = ("--encoder", tiny_encoder_path, "--max-steps", 1, "--set", "negatives_per_dialogue=2")
    succeed("train", chats, *short, "--method", "dial2vec", "--output", tmp_path / "model")
    arguments = ("--level", "dialogue", "--pooling", "interlocutor", "--output", tmp_path / "dialogues.parquet")
    succeed("embed", chats, "--model", tmp_path / "model", *arguments)
    table = pq.read_table(tmp_path / "dialogues.parquet")
    assert table.column_names == ["id", "vector"] and table.num_rows == 30
    tasks = ("domain-categorization", "semantic-relatedness", "dialogue-retrieval", "semantic-retrieval")
    names = [argument for task in tasks for argument in ("--task", task)]
    succeed("evaluate", tmp_path / "model", chats, *names, "--json", tmp_path / "figures.json")
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert 0 < figures["domain_categorization"]["purity"] <= 100
    assert figures["semantic_relatedness"]["spearman"] <= figures["semantic_relatedness"]["spearman_best"]
    assert {"map", "mrr"} <= figures["dialogue_retrieval"].keys() & figures["semantic_retrieval"].keys()


def test_plots_of_dialogues(chats, tiny_encoder_path, tmp_path, monkeypatch) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "picture.png"
    assert "Wrote" in succeed("plot", "interactions", chats, "--model", tiny_encoder_path, "--output", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    missing = run("plot", "interactions", chats, "--conversation", "nobody", "--output", picture, "--force")
    assert missing.exit_code == 1 and "found no conversation 'nobody'" in missing.output
    # Two models of one name are two points.
    points: dict[str, object] = {}
    monkeypatch.setattr(
        "turnwise.evaluation.plots.plot_alignment_uniformity", lambda found, output: points.update(found)
    )
    copies = [shutil.copytree(tiny_encoder_path, tmp_path / name / "model") for name in "ab"]
    arguments = [part for copy in copies for part in ("--model", copy)]
    succeed("plot", "alignment-uniformity", chats, *arguments, "--output", tmp_path / "moves.png")
    assert list(points) == [str(copy) for copy in copies]


def test_recipe_file_and_settings(chats, tiny_encoder_path, tmp_path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('method = "siamese-single"\nmax_steps = 5\nbatch_size = 4\n')
    arguments = ("--encoder", tiny_encoder_path, "--recipe", recipe, "--max-steps", 1, "--set", "negatives=2")
    succeed("train", chats, *arguments, "--output", tmp_path / "model")
    record = json.loads((tmp_path / "model" / "training.json").read_text())["recipe"]
    assert (record["context"], record["max_steps"], record["batch_size"], record["negatives"]) == ("single", 1, 4, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "nowhere.jsonl", "--output", "out"), "found no conversations"),
        (("train", "CHATS", "--output", "out", "--method", "word2vec"), "unknown method 'word2vec'"),
        (("train", "CHATS", "--output", "out", "--set", "temperature"), "expected name=value"),
        (("train", "CHATS", "--output", "out", "--set", "temperature=-1"), "temperature must be positive"),
        (("train", "CHATS", "--output", "out", "--encoder", "./no-encoder"), "expected the folder of a saved encoder"),
        (("convert", "CHATS", "--out", "chats.txt"), "expected a name ending in .jsonl"),
        (("convert", "CHATS", "--out", "CHATS"), "--force"),
        (("evaluate", "a", "b", "CHATS"), "expected [MODEL] DATA"),
        (("evaluate", "CHATS", "--json", "CHATS"), "exists already"),
        (("evaluate", "CHATS", "--json", "CHATS/figures.json"), "is a file"),
        (("train", "CHATS", "--output", "out", "--set", "bf16=False"), "bf16 must be true or false, got 'False'"),
        (("train", "CHATS", "--output", "CHATS", "--force"), "is a file: expected the name of a folder"),
        (("train", "CHATS", "--output", ".", "--force"), "no name of a folder"),
        (("bench", "dialoguecse", "--word-vectors", "nowhere.txt"), "nowhere.txt: no such file"),
    ],
)
def test_mistakes_are_one_line_and_exit_with_1(
    arguments, message, chats, tiny_encoder_path, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if arguments[0] == "train" and "--encoder" not in arguments:
        arguments += ("--encoder", tiny_encoder_path)
    result = run(*(str(argument).replace("CHATS", str(chats)) for argument in arguments))
    assert result.exit_code == 1
    assert message in result.output and "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_a_model_in_the_place_of_the_data_is_told(tiny_encoder_path) -> None:
    result = run("evaluate", tiny_encoder_path)
    assert result.exit_code == 1 and "is a model: expected [MODEL] DATA, the conversations are missing" in result.output


def test_a_damaged_model_is_one_error(chats, tiny_encoder_path, tmp_path) -> None:
    model = Path(shutil.copytree(tiny_encoder_path, tmp_path / "model"))
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    result = run("embed", chats, "--model", model, "--output", tmp_path / "vectors.parquet")
    assert result.exit_code == 1 and "cannot load the encoder" in result.output and "Traceback" not in result.output


def test_a_mistake_leaves_no_unfinished_run(chats, tiny_encoder_path, tmp_path) -> None:
    arguments = (
        "embed",
        chats,
        "--model",
        tiny_encoder_path,
        "--level",
        "dialogue",
        "--output",
        tmp_path / "v.parquet",
    )
    wrong = run(*arguments, "--pooling", "speaker:nobody")
    assert wrong.exit_code == 1 and "no speaker 'nobody'" in wrong.output
    succeed(*arguments, "--pooling", "mean")


def test_names_in_brackets_are_names(chats, tiny_encoder_path, tmp_path) -> None:
    odd = Path(shutil.copy(chats, tmp_path / "my [bold] chats [x].jsonl"))
    figures = tmp_path / "figures [bold].json"
    output = succeed("evaluate", tiny_encoder_path, odd, "--max-queries", 10, "--json", figures)
    assert "[bold]" in output and figures.is_file()
    assert "[red]" in succeed("convert", odd, "--out", tmp_path / "[red].jsonl")


def test_unknown_task_lists_the_known(chats, tiny_encoder_path) -> None:
    result = run("evaluate", tiny_encoder_path, chats, "--task", "translation")
    assert result.exit_code == 1 and "semantic-retrieval" in result.output


def test_bad_rows_are_an_error_or_skipped(chats, tmp_path) -> None:
    with chats.open("a") as file:
        file.write('{"messages": 3}\n')
    result = run("convert", chats, "--out", tmp_path / "out.jsonl")
    assert result.exit_code == 1 and "chats.jsonl:31" in result.output
    assert "Wrote 30 conversations" in succeed("convert", chats, "--out", tmp_path / "out.jsonl", "--skip-bad-rows")


def test_the_demo_reports_both_encoders_and_writes_the_model(tmp_path, monkeypatch, tiny_encoder) -> None:
    monkeypatch.setattr("turnwise.experiments.demo.load_encoder", lambda: tiny_encoder)
    arguments = ("demo", "--output", tmp_path / "demo", "--conversations", 60, "--max-steps", 1)
    output = succeed(*arguments)
    assert "untouched" in output and "DialogueCSE" in output and "p = " in output
    assert (tmp_path / "demo" / "model" / "modules.json").is_file()
    assert run(*arguments).exit_code == 1
    succeed(*arguments, "--force")
