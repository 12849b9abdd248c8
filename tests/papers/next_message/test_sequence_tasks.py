import json
from pathlib import Path

import pytest
from datasets import config
from typer.testing import CliRunner

import turnlens
from sequence_cases import embedded, talks
from turnlens.cli.main import app
from turnlens.errors import ConversationError
from turnlens.evaluation import TASKS, evaluate, load_task
from turnlens.papers.dial2vec.plots import plot_additivity
from turnlens.papers.next_message.next_message import evaluate_next_message
from turnlens.papers.triple_encoders.additivity import evaluate_additivity

NAMES = ["next-message", "component-analysis", "short-term-planning", "additivity"]


@pytest.fixture
def chats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(config, "HF_DATASETS_CACHE", tmp_path / "cache")
    path = tmp_path / "chats.jsonl"
    turnlens.sample_conversations(25).to_json(str(path))
    return path


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_all_tasks_share_the_embeddings(tiny_encoder, with_views) -> None:
    encoder, rows, asked = with_views(tiny_encoder, "c3l"), talks(), []
    encode = encoder.encode

    def counted(texts, **settings):
        asked.extend((text, settings["prompt_name"]) for text in texts)
        return encode(texts, **settings)

    encoder.encode = counted
    result = evaluate(rows, encoder=encoder, tasks=NAMES)
    assert list(result) == [name.replace("-", "_") for name in NAMES]
    assert len(asked) == len(set(asked))
    assert json.loads(json.dumps(result)) == result
    for name in NAMES:
        for figures in result[TASKS[name].key].values():
            low, high = figures[f"{TASKS[name].metric}_interval"]
            assert low <= figures[TASKS[name].metric] <= high
    together = embedded(encoder, rows)
    assert result["next_message"] == evaluate_next_message(together).summary()
    assert result["additivity"] == evaluate_additivity(together).summary()
    scored = TASKS["next-message"].score(encoder, load_task("next-message", rows), 0)
    assert scored.summary() == result["next_message"]


def test_the_encoder_itself_is_needed_and_bad_data_is_reported_with_the_file(tiny_encoder, chats) -> None:
    with pytest.raises(ValueError, match="got next-message: give the encoder itself"):
        evaluate(chats, encoder=tiny_encoder.encode, tasks="next-message")
    with pytest.raises(ValueError, match="component-analysis takes a triple-encoder apart"):
        evaluate(chats, encoder=tiny_encoder, tasks="component-analysis")
    message = {"role": "user", "content": "hello"}
    chats.write_text(json.dumps({"messages": [message] * 3}) + "\n", encoding="utf-8")
    with pytest.raises(ConversationError, match=r"chats\.jsonl: at least 2 conversations of 3 or more turns"):
        evaluate(chats, encoder=tiny_encoder, tasks="next-message")


@pytest.mark.slow
def test_the_command_line_prints_a_line_for_each_mode(tiny_encoder, with_views, chats, tmp_path) -> None:
    with_views(tiny_encoder, "c3l").save_pretrained(str(tmp_path / "c3l"))
    tasks = [argument for name in (*NAMES, "semantic-retrieval") for argument in ("--task", name)]
    arguments = ("--max-queries", 10, "--output", tmp_path / "figures.json")
    output = run("evaluate", tmp_path / "c3l", chats, *tasks, *arguments)
    for shown in ("average", "last-2", "max", "bm25", "mean-b1", "triple", "MRR", "hits at 5", "turns of the context"):
        assert shown in output
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert list(figures["next_message"]) == ["average", *(f"last-{k}" for k in (1, 2, 3, 4)), "max", "bi", "bm25"]
    assert figures["next_message"]["average"]["conversations"] == 10
    assert figures["next_message"]["bm25"]["by_context_length"]["2"]["candidates"] == 25
    assert "MAP" in output and "map" in figures["semantic_retrieval"]


@pytest.mark.slow
def test_a_plain_encoder_on_the_command_line(tiny_encoder_path, chats) -> None:
    output = run("evaluate", tiny_encoder_path, chats, "--task", "next-message")
    assert "single" in output and "bm25" in output and "last-2" not in output


@pytest.mark.slow
def test_additivity_is_drawn(tiny_encoder_path, chats, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    arguments = ("--model", tiny_encoder_path, "--turns", 3, "--output", tmp_path / "picture.png")
    assert "Wrote" in run("papers", "plot", "additivity", chats, *arguments)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no encoders"):
        plot_additivity({}, tmp_path / "nothing.png")
