"""Logs as products really publish them, written again after the names and nesting that were found in the wild."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from format_cases import read, write
from samples import lines

ASKED, ANSWERED, RESULT = "¿Dónde está? 🙂", "Aquí.", {"place": "un pastel"}
CALL = {"name": "look", "args": {"at": 1}}
TURNS = [("user", ASKED), ("assistant", ""), ("tool", ""), ("assistant", ANSWERED)]


def _observation(name: str, parent: str | None, kind: str, second: int, given: Any, out: Any) -> dict[str, Any]:
    row = {"id": name, "traceId": "t", "parentObservationId": parent, "type": kind, "level": "DEFAULT", "name": name}
    row |= {"startTime": f"2025-08-22T09:38:0{second}.000Z", "endTime": f"2025-08-22T09:38:0{second + 1}.500Z"}
    return {**row, "latency": 1500, "usageDetails": {"input": 5, "output": 2}, "input": given, "output": out}


def _langfuse_page(given: Any, out: Any, *observations: dict[str, Any]) -> dict[str, Any]:
    """The download of Langfuse's page of a trace: its input and output are JSON in JSON."""
    row = {"id": "t", "timestamp": "2025-08-22T09:38:00.000Z", "sessionId": "s", "bookmarked": False, "latency": 4.0}
    row |= {"input": _twice(given), "output": _twice(out), "metadata": "{}", "scores": []}
    return {"trace": row, "observations": list(observations)}


def _twice(value: Any) -> str | None:
    return None if value is None else json.dumps(json.dumps(value) if not isinstance(value, str) else value)


def _langchain(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"content": content, "additional_kwargs": {}, "response_metadata": {}, "type": kind, **more}


_OPENAI_CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
_SCHEMA = {"role": "tool", "content": {"type": "function", "function": {"name": "look", "parameters": {}}}}
_HUMAN, _AI = _langchain("human", ASKED), _langchain("ai", "", tool_calls=[{**CALL, "id": "c"}])
_TOOL, _LAST = _langchain("tool", [RESULT], tool_call_id="c"), _langchain("ai", ANSWERED)
_SENT = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": ASKED}]
_CALLED = {"role": "assistant", "content": "", "additional_kwargs": {"tool_calls": [_OPENAI_CALL]}}
LANGGRAPH = _langfuse_page(
    {"messages": [_HUMAN]},
    {"messages": [_HUMAN, _AI, {**_TOOL, "content": json.dumps([RESULT])}, _LAST]},
    _observation("a", None, "SPAN", 0, {"messages": [_HUMAN]}, {"messages": [_HUMAN, _AI, _TOOL, _LAST]}),
    _observation("b", "a", "GENERATION", 1, [*_SENT, _SCHEMA], _CALLED),
    _observation("c", "a", "SPAN", 2, "{'at': 1}", _TOOL),
    _observation(
        "d",
        "a",
        "GENERATION",
        3,
        [*_SENT, _CALLED, {"role": "tool", "content": [RESULT], "tool_call_id": "c"}, _SCHEMA],
        {"role": "assistant", "content": ANSWERED},
    ),
)

_GEMINI = [
    {"role": "user", "parts": [{"text": ASKED}]},
    {"role": "model", "parts": [{"function_call": CALL}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": RESULT}}]},
]
_ANSWER = {"content": {"role": "model", "parts": [{"text": ANSWERED}]}, "finish_reason": "STOP"}
_CONFIG = {"model": "m", "config": {"system_instruction": "Be kind."}}
ADK = _langfuse_page(
    {"user_id": "u", "new_message": _GEMINI[0], "state_delta": None},
    {**_ANSWER, "author": "agent", "id": "x"},
    _observation("a", None, "AGENT", 0, None, None),
    _observation("b", "a", "GENERATION", 1, {**_CONFIG, "contents": _GEMINI[:1]}, {"content": _GEMINI[1]}),
    _observation("c", "a", "GENERATION", 3, {**_CONFIG, "contents": _GEMINI}, _ANSWER),
)

_ITEMS = [
    {"role": "user", "content": ASKED},
    {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}", "id": "fc"},
    {"type": "function_call_output", "call_id": "c", "output": "a cake"},
]


def _response(*output: dict[str, Any]) -> dict[str, Any]:
    return {"object": "response", "instructions": "Be kind.", "output": list(output), "error": None, "text": {}}


_MESSAGE = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWERED}]}
OPENAI_AGENTS = _langfuse_page(
    None,
    None,
    _observation("a", None, "AGENT", 0, None, None),
    _observation("b", "a", "GENERATION", 1, _ITEMS[:1], _response(_ITEMS[1])),
    _observation("c", "a", "TOOL", 2, {"at": 1}, "a cake"),
    _observation("d", "a", "GENERATION", 3, _ITEMS, _response(_MESSAGE)),
)

_PARTS = [
    {"role": "user", "parts": [{"type": "text", "content": ASKED}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": ["r", "c"], "name": "look", "arguments": {"at": 1}}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": ["r", "c"], "response": "a cake"}]},
    {"role": "assistant", "parts": [{"type": "text", "content": ANSWERED}]},
]
_TOLD = [{"role": "system", "parts": [{"type": "text", "content": "Be kind."}]}]
KEPT_BY_PROVIDER = _langfuse_page(  # as Microsoft's agents: a call sends what is new
    _PARTS[:1],
    _PARTS[1:],
    _observation("a", None, "AGENT", 0, _PARTS[:1], _PARTS[1:]),
    _observation("b", "a", "GENERATION", 1, _TOLD + _PARTS[:1], _PARTS[1:2]),
    _observation("c", "a", "GENERATION", 3, _TOLD + _PARTS[1:3], _PARTS[3:]),
)

_KOOG_CALL = {
    "role": "tool",
    "content": [{"function": {"name": "look", "arguments": {}}, "id": "c", "type": "function"}],
}
KOOG = _langfuse_page(
    None,
    None,
    _observation("a", None, "AGENT", 0, None, None),
    _observation(
        "b",
        "a",
        "GENERATION",
        1,
        [*_SENT, _KOOG_CALL, {"role": "tool", "content": "a cake"}],
        [{"role": "assistant", "content": ANSWERED}],
    ),
    _observation("c", "lost", "SPAN", 0, {"name": "Bob"}, "a cake"),
)


@pytest.mark.parametrize("page", [LANGGRAPH, ADK, OPENAI_AGENTS, KEPT_BY_PROVIDER, KOOG])
def test_a_trace_downloaded_from_langfuses_page(tmp_path: Path, page: dict[str, Any]) -> None:
    (row,) = read(write(tmp_path / "trace.json", page))
    assert [(message["role"], message["content"]) for message in row["messages"]] == TURNS
    assert (row["id"], row["system"]) == ("s", "Be kind.")
    assert "look" in row["messages"][1]["tool_calls"]
    assert "cake" in row["messages"][2]["tool_results"] or "pastel" in row["messages"][2]["tool_results"]
    assert row["latency"] in (1.5, 4.0)  # from times, since pages write milliseconds


def test_a_trace_whose_history_was_trimmed_is_one_path(tmp_path: Path) -> None:
    steps: list[dict[str, Any]] = []
    for at in (1, 2):
        steps.append({"role": "assistant", "content": f"Step {at}.", "tool_calls": [{**_OPENAI_CALL, "id": f"c{at}"}]})
        steps.append({"role": "tool", "tool_call_id": f"c{at}", "content": f"result {at}"})
    page = _langfuse_page(
        ASKED,
        ANSWERED,
        _observation("a", None, "AGENT", 0, ASKED, ANSWERED),
        _observation("b", "a", "GENERATION", 1, _SENT, steps[0]),
        _observation("c", "a", "GENERATION", 2, [*_SENT, *steps[:2]], steps[2]),
        _observation("d", "a", "GENERATION", 3, [*_SENT, *steps[2:]], {"role": "assistant", "content": ANSWERED}),
    )
    (row,) = read(write(tmp_path / "trace.json", page))
    assert [said["content"] for said in row["messages"]] == [ASKED, "Step 1.", "", "Step 2.", "", ANSWERED]
    assert row.get("branches") is None


def test_a_function_traced_by_a_decorator(tmp_path: Path) -> None:
    root = _observation("a", None, "SPAN", 0, {"args": [ASKED], "kwargs": {}}, ANSWERED)
    call = _observation("b", "a", "GENERATION", 1, [{"role": "user", "content": f"Answer: {ASKED}"}], ANSWERED)
    (row,) = read(write(tmp_path / "o.json", [root, call]))
    assert [message["content"] for message in row["messages"]] == [ASKED, ANSWERED]


def test_results_of_functions_are_json_in_json(tmp_path: Path) -> None:
    inputs = {"inputs": {"question": ASKED}, "tags": [], "kwargs": {"name": "x"}}
    told = {"traceloop.span.kind": "workflow", "traceloop.entity.input": json.dumps(inputs)}
    told |= {"traceloop.entity.output": json.dumps(ANSWERED)}
    (row,) = read(write(tmp_path / "spans.jsonl", lines(_span(told, []))))
    assert [message["content"] for message in row["messages"]] == [ASKED, ANSWERED]
    quoted = _observation("a", None, "SPAN", 0, f'"{ASKED}"', ANSWERED)  # as somebody wrote it
    (row,) = read(write(tmp_path / "o.json", [quoted]))
    assert row["messages"][0]["content"] == f'"{ASKED}"'


def test_a_data_frame_of_phoenix_in_csv(tmp_path: Path) -> None:
    given = [
        {"message.role": "system", "message.content": "Be kind."},
        {"message.role": "user", "message.content": ASKED},
    ]
    row = {"span_kind": "LLM", "context.span_id": "a", "context.trace_id": "t", "start_time": "2026-01-01"}
    row |= {"attributes.llm.input_messages": given, "events": []}
    row |= {"attributes.llm.output_messages": [{"message.role": "assistant", "message.content": "It's there."}]}
    pd.DataFrame([row]).to_csv(tmp_path / "spans.csv", index=False)
    (talk,) = read(tmp_path / "spans.csv")
    assert [message["content"] for message in talk["messages"]] == [ASKED, "It's there."]
    assert talk["system"] == "Be kind."


_BY_CLAUDE_CODE = {
    f"{ASKED} <system-reminder>x</system-reminder>": f"{ASKED} ",
    "<command-name>/clear</command-name>\n  <command-args></command-args>": "",
    "[Request interrupted by user]": "",
    "Use <b>bold</b>.": "Use <b>bold</b>.",
}


def test_text_by_claude_code_is_a_notice(tmp_path: Path) -> None:
    row = {"type": "user", "sessionId": "s", "uuid": "u", "timestamp": "2026-01-01T00:00:00Z"}
    texts = [{**row, "message": {"role": "user", "content": text}} for text in _BY_CLAUDE_CODE]
    summary = {**row, "isCompactSummary": True, "message": {"role": "user", "content": "Continued …"}}
    (talk,) = read(write(tmp_path / "s.jsonl", lines(*texts, summary)))
    assert [message["content"] for message in talk["messages"]] == [*_BY_CLAUDE_CODE.values(), ""]
    assert [message.get("notice") is None for message in talk["messages"]] == [False, False, False, True, False]


_RUNS = [
    {"id": "t", "trace_id": "t", "run_type": "chain", "start_time": "2026-01-01T00:00:00Z", "extra": {}}
    | {"inputs": {"messages": [_HUMAN]}, "outputs": {"messages": [_HUMAN, _LAST]}},
    {"id": "r", "trace_id": "t", "run_type": "llm", "start_time": "2026-01-01T00:00:01Z", "extra": {}}
    | {"inputs": {"messages": [_HUMAN]}, "outputs": {"messages": [_LAST]}},
]
_PARENTS = ({"parent_run_id": None}, {"parent_run_id": "t"})
_ALL_PARENTS = ({"parent_run_ids": []}, {"parent_run_ids": ["t"]})
_OPIK = {"id": "t", "start_time": "2026-01-01T00:00:00Z", "thread_id": "s", "duration": 1.5, "feedback_scores": []}
_HELICONE = {"request_id": "r", "request_created_at": "2026-01-01T00:00:00Z", "request_model": "m"}
_GEMINI_BODIES = {
    "request_body": {"contents": _GEMINI[:1], "systemInstruction": {"parts": [{"text": "Be kind."}]}},
    "response_body": {"candidates": [_ANSWER], "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 2}},
}
_SPEND = {"call_type": "acompletion", "session_id": "s", "spend": 0.5, "startTime": "2026-01-01 00:00:00"}
_SPEND |= {"messages": "{}", "proxy_server_request": json.dumps({"model": "m", "messages": _SENT})}
_SPEND |= {"response": json.dumps({"choices": [{"message": {"role": "assistant", "content": ANSWERED}}]})}
_LIBRE = {"conversationId": "s", "isCreatedByUser": True, "sender": "User", "messageId": "1", "text": ASKED}
_LIBRE |= {"parentMessageId": "0", "createdAt": {"$date": "2026-01-01T00:00:00Z"}}
_LIBRE_LAST = {**_LIBRE, "messageId": "2", "parentMessageId": "1", "isCreatedByUser": False, "sender": "M", "text": ""}
_LIBRE_LAST |= {"createdAt": {"$date": "2026-01-01T00:00:01Z"}, "content": [{"type": "text", "text": ANSWERED}]}
PUBLISHED: list[tuple[str, Any]] = [
    ("langsmith.json", {"runs": [run | parent for run, parent in zip(_RUNS, _PARENTS)], "cursors": {}}),
    ("langsmith2.json", {"items": [run | above for run, above in zip(_RUNS, _ALL_PARENTS)], "next_cursor": None}),
    ("opik.json", {"page": 1, "content": [{**_OPIK, "input": {"question": ASKED}, "output": {"answer": ANSWERED}}]}),
    ("helicone.json", {"data": [_HELICONE | _GEMINI_BODIES], "error": None}),
    ("litellm.jsonl", lines(_SPEND)),
    ("librechat.json", [_LIBRE, _LIBRE_LAST]),
    ("librechat.jsonl", lines(_LIBRE_LAST, {**_LIBRE, "conversationId": "other"}, _LIBRE)),
]


@pytest.mark.parametrize(("name", "content"), PUBLISHED)
def test_pages_of_apis_and_rows_of_databases(tmp_path: Path, name: str, content: Any) -> None:
    rows = read(write(tmp_path / name, content))
    assert [(m["role"], m["content"]) for m in rows[0]["messages"]] == [("user", ASKED), ("assistant", ANSWERED)]
    assert rows[0]["time"].startswith("2026-01-01T00:00")
    if name.startswith(("helicone", "litellm")):
        assert rows[0]["system"] == "Be kind."


def test_calls_of_a_page_stay_apart(tmp_path: Path) -> None:
    calls = [_HELICONE | _GEMINI_BODIES | {"request_id": name} for name in "ab"]
    other = {**_GEMINI_BODIES, "request_body": {"contents": _GEMINI[2:]}, "request_id": "c", **_HELICONE}
    assert len(read(write(tmp_path / "pages.jsonl", lines({"data": calls}, {"data": [other]})))) == 3


def test_spend_logs_without_prompts_get_advice(tmp_path: Path) -> None:
    path = write(tmp_path / "spend.jsonl", lines({**_SPEND, "proxy_server_request": "{}"}))
    with pytest.raises(ValueError, match="store_prompts_in_spend_logs"):
        read(path)


def _span(attributes: dict[str, Any], events: list[dict[str, Any]]) -> dict[str, Any]:
    return {"context": {"trace_id": "t", "span_id": "a"}, "attributes": attributes, "events": events}


_CHAT = {"gen_ai.operation.name": "chat"}
_WRITTEN = {"gen_ai.input.messages": json.dumps(_TOLD + _PARTS[:1]), "gen_ai.output.messages": json.dumps(_PARTS[3:])}
_SCORE = {"gen_ai.evaluation.name": "faithful", "gen_ai.evaluation.score.value": 0.5}
_LOGFIRE = [
    {"event.name": "gen_ai.system.message", "role": "system", "content": "Be kind."},
    {"event.name": "gen_ai.user.message", "role": "user", "content": ASKED},
    {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": ANSWERED}},
]
_DETAILS = {"name": "gen_ai.client.inference.operation.details", "attributes": _WRITTEN}


@pytest.mark.parametrize(
    "span",
    [
        _span(_CHAT | _WRITTEN, [{"name": "gen_ai.evaluation.result", "attributes": _SCORE}]),
        _span(_CHAT, [_DETAILS]),
        _span(_CHAT | {"events": json.dumps(_LOGFIRE)}, []),
    ],
)
def test_messages_and_scores_in_events(tmp_path: Path, span: dict[str, Any]) -> None:
    (row,) = read(write(tmp_path / "spans.jsonl", lines(span)))
    assert [(m["role"], m["content"]) for m in row["messages"]] == [("user", ASKED), ("assistant", ANSWERED)]
    assert row["system"] == "Be kind."
    assert row.get("score_faithful") == (0.5 if "evaluation" in str(span["events"]) else None)


def test_instructions_in_requests_are_no_messages(tmp_path: Path) -> None:
    sent = [*_SENT, {"role": "developer", "content": "Be brief."}]
    call = {"request": {"model": "m", "messages": sent}, "response": {"choices": [{"message": {"content": ANSWERED}}]}}
    (row,) = read(write(tmp_path / "calls.jsonl", lines(call)))
    assert row["system"] == "Be kind."
    said = [(m["role"], m["content"], m.get("notice")) for m in row["messages"]]
    assert said == [("user", ASKED, None), ("developer", "", "Be brief."), ("assistant", ANSWERED, None)]


@pytest.mark.parametrize("name", ["otel logs", "otel events as text", "langfuse export", "chat completions"])
def test_records_delivered_twice_count_once(tmp_path: Path, name: str) -> None:
    from call_logs import LOGS
    from traces import TRACES

    file, text = (TRACES | LOGS)[name]
    once = read(write(tmp_path / file, text))
    twice = read(write(tmp_path / f"twice-{file}", text + "".join(reversed(text.splitlines(keepends=True)))))
    assert [row["messages"] for row in twice] == [row["messages"] for row in once]
    assert [row["input_tokens"] for row in twice] == [row["input_tokens"] for row in once]
