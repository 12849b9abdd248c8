"""Requests to language models with their responses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from format_cases import read, turns, write
from samples import CALLS, HELLO, NIHAO, SALAM, SHALOM, lines

from turnwise.errors import ConversationError


def _said(path: Path, *records: Any) -> list[list[tuple[str, str]]]:
    rows = read(write(path / "log.jsonl", lines(*records)))
    return [[(message["role"], message["content"]) for message in row["messages"]] for row in rows]


def test_calls_of_a_session_are_joined_in_order_of_time(tmp_path: Path) -> None:
    (row,) = read(write(tmp_path / "log.jsonl", lines(*CALLS)))
    assert [message["content"] for message in row["messages"]] == [HELLO, SALAM, SHALOM, NIHAO]
    assert (row["id"], row["system"], row["model"], row["calls"]) == ("s", "Be kind.", "m", 2)
    assert (row["input_tokens"], row["output_tokens"], row["time"]) == (10, 4, "2024-05-01T10:01:00+00:00")


def test_an_answer_asked_for_again_is_counted_as_a_branch(tmp_path: Path) -> None:
    again = {**CALLS[1], "timestamp": "2024-05-01T10:01:30Z"}
    again["response"] = {"choices": [{"message": {"role": "assistant", "content": "regenerated"}}]}
    (row,) = read(write(tmp_path / "log.jsonl", lines(*CALLS, again)))
    assert [message["content"] for message in row["messages"]] == [HELLO, SALAM, SHALOM, NIHAO]
    assert row["branches"] == 2


OUTPUT = {"type": "output_text", "text": "Yes"}
ANSWERS: dict[str, Any] = {
    "chat": {"choices": [{"message": {"role": "assistant", "content": "Yes"}}]},
    "responses": {"output": [{"type": "message", "role": "assistant", "content": [OUTPUT]}]},
    "anthropic": {"role": "assistant", "content": [{"type": "text", "text": "Yes"}]},
    "stream": [{"choices": [{"delta": {"content": text}}]} for text in ("Y", "es")],
    "anthropic stream": [
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": t}} for t in ("Y", "es")
    ],
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_responses_of_every_kind(tmp_path: Path, kind: str) -> None:
    asked = {"input": "Here?"} if kind == "responses" else {"messages": turns("Here?")}
    record = {"request": {"model": "m", **asked}, "response": ANSWERS[kind]}
    assert _said(tmp_path, record, record) == [[("user", "Here?"), ("assistant", "Yes")]] * 2


def test_logs_of_gateways_and_batches(tmp_path: Path) -> None:
    body, answer = {"model": "m", "messages": turns("Here?")}, ANSWERS["chat"]
    logs: list[dict[str, Any]] = [
        {"request_body": body, "response_body": answer, "request_created_at": "2024-05-01T10:00:00Z"},
        {"messages": body["messages"], "response": answer, "call_type": "acompletion", "startTime": 1.7e9},
        {"custom_id": "1", "method": "POST", "url": "/v1", "body": body, "response": {"body": answer}, "error": None},
    ]
    for number, log in enumerate(logs):
        assert _said(tmp_path / str(number), log) == [[("user", "Here?"), ("assistant", "Yes")]]


def test_tools_are_apart_from_what_is_said(tmp_path: Path) -> None:
    call = {"id": "t", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    history = [*turns("Here?"), {"role": "assistant", "content": None, "tool_calls": [call]}]
    history.append({"role": "tool", "tool_call_id": "t", "content": "a cake"})
    record = {"request": {"model": "m", "messages": history}, "response": ANSWERS["chat"]}
    (said,) = _said(tmp_path, record)
    assert said == [("user", "Here?"), ("assistant", ""), ("tool", ""), ("assistant", "Yes")]


def test_a_batch_of_answers_only_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ConversationError, match="a response and no request; join it"):
        _said(tmp_path, {"id": "b", "custom_id": "1", "response": {"body": ANSWERS["chat"]}, "error": None})


def test_a_history_that_is_cut_at_its_beginning_is_counted_once(tmp_path: Path) -> None:
    histories = (turns("a"), turns("a", "Yes", "b"), turns("b", "Yes", "c"))
    records = [
        {"session_id": "s", "request": {"model": "m", "messages": history}, "response": ANSWERS["chat"]}
        for history in histories
    ]
    (said,) = _said(tmp_path, *records)
    assert [text for _, text in said] == ["a", "Yes", "b", "Yes", "c", "Yes"]
