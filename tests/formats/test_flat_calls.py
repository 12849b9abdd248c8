"""Logs that somebody's own code writes: a line for each call, with what was asked and answered in plain columns."""

import csv
from pathlib import Path
from typing import Any

import pytest

from format_cases import read, turns, write
from samples import lines
from turnlens.errors import ConversationError

_ASKED, _ANSWERED = ("Where is it?", "Why?"), ("There.", "So.")


def _row(number: int, asked: str, answered: str, **more: Any) -> dict[str, Any]:
    time = f"2024-05-01T10:0{number}:00Z"
    row = {"timestamp": time, "session_id": "s", asked: _ASKED[number], answered: _ANSWERED[number]}
    return {**row, "model": "m", "latency_ms": 500, "status_code": 200, **more}


def _messages(path: Path) -> list[dict[str, str]]:
    (row,) = read(path)
    return [{"role": message["role"], "content": message["content"]} for message in row["messages"]]


def test_flat_calls_of_a_session_are_joined(tmp_path: Path) -> None:
    questions = ("prompt", "query", "question", "input", "user_message")
    for asked, answered in zip(questions, ("response", "completion", "answer", "output", "assistant_message")):
        rows = [_row(number, asked, answered) for number in (1, 0)]
        expected = turns("Where is it?", "There.", "Why?", "So.")
        assert _messages(write(tmp_path / "log.jsonl", lines(*rows))) == expected, asked
        with (tmp_path / "log.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        assert _messages(tmp_path / "log.csv") == expected, asked


@pytest.mark.parametrize("repeats", [True, False])
def test_sessions_are_joined_with_and_without_repeated_histories(tmp_path: Path, repeats: bool) -> None:
    said = turns("Where is it?", "There.", "Why?", "So.")
    rows = [
        _row(0, "prompt", "response") | {"messages": said[:1], "response": "There."},
        _row(1, "prompt", "response") | {"messages": said[:3] if repeats else said[2:3], "response": "So."},
    ]
    rows = [{name: value for name, value in row.items() if name != "prompt"} for row in rows]
    assert _messages(write(tmp_path / "log.jsonl", lines(*rows))) == said
    rows[1]["messages"] = said  # which end with the answer already
    assert _messages(write(tmp_path / "ends.jsonl", lines(*rows))) == said


def test_failed_calls_are_counted_and_questions_kept(tmp_path: Path) -> None:
    rows = [_row(0, "prompt", "completion"), _row(1, "prompt", "completion", completion=None, status_code=500)]
    (row,) = read(write(tmp_path / "log.jsonl", lines(*rows)))
    assert [message["content"] for message in row["messages"]] == ["Where is it?", "There.", "Why?"]
    assert (row["calls"], row["errors"], row["error"], row["latency"]) == (2, 1, "HTTP 500", pytest.approx(1.0))


def test_questions_with_facts_of_calls_are_logs(tmp_path: Path) -> None:
    rows = [_row(n, "query", "answer", conversation_id="s") for n in (0, 1)]
    for row in rows:
        del row["session_id"]
    (row,) = read(write(tmp_path / "log.jsonl", lines(*rows)))
    assert (row["calls"], len(row["messages"])) == (2, 4)


def test_other_columns_are_labels(tmp_path: Path) -> None:
    row = _row(0, "query", "answer", id="r7", team="shop", rating=4, feedback="up", metadata={"version": "v2"})
    del row["session_id"]
    (talk,) = read(write(tmp_path / "log.jsonl", lines(row)))
    assert {name: talk[name] for name in ("id", "team", "rating", "feedback", "version", "model")} == {
        "id": "r7", "team": "shop", "rating": 4, "feedback": "up", "version": "v2", "model": "m"
    }  # fmt: skip
    assert not {"query", "answer", "latency_ms", "status_code", "timestamp"} & talk.keys()


def test_rows_to_learn_from_stay_pairs(tmp_path: Path) -> None:
    rows = [{"prompt": "Where is it?", "response": "There.", "model": "m"}] * 2
    assert len(read(write(tmp_path / "pairs.jsonl", lines(*rows)))) == 2
    table = [{"session_id": "s", "role": "user", "text": "Hi", "input": "a", "output": "b", "model": "m"}]
    (row,) = read(write(tmp_path / "table.jsonl", lines(*table)))
    assert [message["content"] for message in row["messages"]] == ["Hi"]


def test_a_call_that_asks_nothing_is_told(tmp_path: Path) -> None:
    rows = [_row(0, "prompt", "completion"), _row(1, "prompt", "completion", prompt=None)]
    with pytest.raises(ConversationError, match="found nothing under 'prompt'; expected what was asked"):
        read(write(tmp_path / "log.jsonl", lines(*rows)))
