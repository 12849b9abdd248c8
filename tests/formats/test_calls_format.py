import json
from pathlib import Path
from typing import Any

import pytest

from call_logs import LOGS, SAID
from format_cases import read, turns, write
from samples import CALLS, HELLO, NIHAO, SALAM, SHALOM, lines


def _said(path: Path, *records: Any) -> list[list[tuple[str, str]]]:
    rows = read(write(path / "log.jsonl", lines(*records)))
    return [[(message["role"], message["content"]) for message in row["messages"]] for row in rows]


def test_calls_of_a_session_are_joined_by_time(tmp_path: Path) -> None:
    (row,) = read(write(tmp_path / "log.jsonl", lines(*CALLS)))
    assert [message["content"] for message in row["messages"]] == [HELLO, SALAM, SHALOM, NIHAO]
    assert (row["id"], row["system"], row["model"], row["calls"]) == ("s", "Be kind.", "m", 2)
    assert (row["input_tokens"], row["output_tokens"], row["time"]) == (10, 4, "2024-05-01T10:01:00+00:00")


def test_new_messages_have_the_time_of_their_call(tmp_path: Path) -> None:
    history = turns("a", "b", "c")
    record = {**CALLS[1], "request": {"model": "m", "messages": history}}
    own = {**record, "session_id": "t"}
    own["request"] = {"model": "m", "messages": [{**said, "timestamp": 1714557600} for said in history]}
    untimed, timed = read(write(tmp_path / "log.jsonl", lines(record, own)))
    begun = "2024-05-01T10:01:00+00:00"
    assert [message.get("time") for message in untimed["messages"]] == [None, None, begun, begun]
    assert [message["time"] for message in timed["messages"]] == ["2024-05-01T10:00:00+00:00"] * 3 + [begun]


def test_repeated_answers_count_as_branches(tmp_path: Path) -> None:
    again = {**CALLS[1], "timestamp": "2024-05-01T10:01:30Z"}
    again["response"] = {"choices": [{"message": {"role": "assistant", "content": "regenerated"}}]}
    (row,) = read(write(tmp_path / "log.jsonl", lines(*CALLS, again)))
    assert [message["content"] for message in row["messages"]] == [HELLO, SALAM, SHALOM, NIHAO]
    assert row["branches"] == 2


def _asks(number: int | str, ids: str = "") -> dict[str, Any]:
    call = {
        "id": f"{number}{ids}",
        "type": "function",
        "function": {"name": "look", "arguments": f'{{"at": "{number}"}}'},
    }
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _result(number: int | str, content: str, ids: str = "") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"{number}{ids}", "content": content}


def _agent(*calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A log of calls in one session, each a history that ends with the answer."""
    return [
        {
            "session_id": "s",
            "request": {"model": "m", "messages": history},
            "response": {"choices": [{"message": answer}]},
        }
        for *history, answer in calls
    ]


_ASK, _DONE = {"role": "user", "content": "Where?"}, {"role": "assistant", "content": "There."}
_STEPS = [message for n in range(1, 5) for message in (_asks(n), _result(n, f"no {n}"))]
# The name of a log, its calls, and what is read: the texts of users and assistants, calls by their argument.
_REPLAYS: dict[str, tuple[list[list[dict[str, Any]]], str]] = {
    "whole": ([[_ASK, *_STEPS[:length]] for length in (1, 3, 5)] + [[_ASK, *_STEPS[:6], _DONE]], "Where? 1 2 3 There."),
    "trimmed": (
        [[_ASK, *_STEPS[:3]], [_ASK, *_STEPS[2:5]], [_ASK, *_STEPS[4:7]], [_ASK, *_STEPS[6:8], _DONE]],
        "Where? 1 2 3 4 There.",
    ),
    "without its question": ([[_ASK, *_STEPS[:3]], _STEPS[2:5], [*_STEPS[4:6], _DONE]], "Where? 1 2 3 There."),
    "steps left out": (
        [[_ASK, *_STEPS[:5]], [_ASK, *_STEPS[2:7]], [_ASK, *_STEPS[2:4], *_STEPS[6:], _DONE]],
        "Where? 1 2 3 4 There.",
    ),
    "results cleared": (
        [[_ASK, *_STEPS[:3]], [_ASK, _asks(1), _result(1, "[cleared]"), *_STEPS[2:4], _DONE]],
        "Where? 1 2 There.",
    ),
    "ids made anew": (
        [[_ASK, *_STEPS[:3]], [_ASK, _asks(1, "b"), _result(1, "no 1", "b"), *_STEPS[2:4], _DONE]],
        "Where? 1 2 There.",
    ),
    "tools left out": ([[_ASK, *_STEPS[:2], _DONE], [_ASK, _DONE, _ASK, _DONE]], "Where? 1 There. Where? There."),
    "texts left out": ([turns(*"ab"), turns(*"abcd"), turns(*"cdef")], "a b c d e f"),
    "asked again until it is there": (
        [[_ASK, _asks(1)], [_ASK, *_STEPS[:2], _asks(1)], [_ASK, _asks(1), _result(1, "yes"), _DONE]],
        "Where? 1 1 There.",
    ),
}


def _outline(row: dict[str, Any]) -> str:
    calls = [json.loads(message.get("tool_calls") or "null") for message in row["messages"]]
    asked = [json.loads(call[0]["function"]["arguments"])["at"] if call else "" for call in calls]
    return " ".join(filter(None, (m["content"] or call for m, call in zip(row["messages"], asked))))


def test_replays_of_tool_calls_are_no_branches(tmp_path: Path) -> None:
    for name, (calls, expected) in _REPLAYS.items():
        (row,) = read(write(tmp_path / "log.jsonl", lines(*_agent(*calls))))
        assert (_outline(row), row.get("branches")) == (expected, None), name


def test_edits_of_agents_are_branches(tmp_path: Path) -> None:
    edited, again = {**_ASK, "content": "And now?"}, _asks(2, "b")
    whole = [_ASK, _DONE, edited, *_STEPS[:2], _DONE]
    for other in ([_ASK, _DONE, _ASK, *_STEPS[:4], _DONE], [_ASK, _DONE, edited, again]):
        (row,) = read(write(tmp_path / "log.jsonl", lines(*_agent(whole, other))))
        assert row["branches"] == 1


OUTPUT = {"type": "output_text", "text": "Yes"}
ANSWERS: dict[str, Any] = {
    "chat": {"choices": [{"message": {"role": "assistant", "content": "Yes"}}]},
    "responses": {"output": [{"type": "message", "role": "assistant", "content": [OUTPUT]}]},
    "anthropic": {"role": "assistant", "content": [{"type": "text", "text": "Yes"}]},
}


@pytest.mark.parametrize("kind", LOGS)
def test_a_session_is_what_was_said_in_it(tmp_path: Path, kind: str) -> None:
    (row,) = read(write(tmp_path / LOGS[kind][0], LOGS[kind][1]))
    assert [(message["role"], message["content"]) for message in row["messages"]] == SAID
    assert (row["system"], row["model"], row["calls"], row.get("branches")) == ("Be kind.", "m", 2, None)
    assert (row["input_tokens"], row["output_tokens"]) == (10.0, 4.0)
    _, thought, told, _ = row["messages"]
    assert thought["thinking"] == "Hm." and json.loads(thought["tool_calls"])[0]["id"] == "c1"
    assert json.loads(told["tool_results"])[0]["content"] == "a cake"
    assert row["id"] == "s" and row["time"].startswith("2024-05-01T10:00:00")
    assert [message["time"][11:16] for message in row["messages"]] == ["10:00"] * 2 + ["10:01"] * 2
    if kind.startswith(("helicone", "litellm")):
        assert (row["cost"], row["latency"]) == (1.0, 3.0)


def test_items_of_one_answer_are_one_message(tmp_path: Path) -> None:
    output = [{"type": "web_search_call", "id": "w", "status": "completed"}, {"type": "reasoning", "summary": []}]
    output += [{"type": "message", "role": "assistant", "content": [OUTPUT]}, {"type": "mcp_call", "name": "look"}]
    record = {"request": {"model": "m", "input": "Here?"}, "response": {"output": output}}
    (row,) = read(write(tmp_path / "log.jsonl", lines(record)))
    said = row["messages"][1]
    assert said == {"role": "assistant", "content": "Yes", "tool_calls": said["tool_calls"]}
    assert json.loads(said["tool_calls"]) == [{"id": "w"}, {"name": "look"}]


def test_users_and_metadata_of_calls_are_labels(tmp_path: Path) -> None:
    later = {**CALLS[0], "user_id": "ann", "metadata": {"team": "sales", "build": 7, "flags": ["a"], "session_id": "s"}}
    earlier = {**CALLS[1], "metadata": {"team": "care", "messages": "none"}}
    earlier["request"] = {**earlier["request"], "metadata": {"tier": "gold"}}
    (row,) = read(write(tmp_path / "log.jsonl", lines(later, earlier)))
    assert (row["user_id"], row["team"], row["build"], row["tier"]) == ("ann", "care", 7, "gold")
    assert "flags" not in row and "session_id" not in row and len(row["messages"]) == 4


def test_logs_without_models_are_detected_by_both_bodies(tmp_path: Path) -> None:
    request = {"messages": [{"role": "user", "content": HELLO}]}
    for response in ({"choices": [{"message": {"role": "assistant", "content": SALAM}}]}, {"content": SALAM}):
        record = {"session": "s", "ms": 12, "request": request, "response": response}
        assert _said(tmp_path, record) == [[("user", HELLO), ("assistant", SALAM)]]


def test_tools_that_failed_are_errors_of_the_conversation(tmp_path: Path) -> None:
    def asks(name: str) -> dict[str, Any]:
        call = {"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    told = {"t": {"error": "Timeout", "after": 5}, "u": {"error": None, "found": 1}, "v": {"error": {"code": 3}}}
    history = turns("Here?")
    for name, content in told.items():
        history += [asks(name), {"role": "tool", "tool_call_id": name, "content": json.dumps(content)}]
    records = [
        {"session_id": "s", "request": {"model": "m", "messages": history[:length]}, "response": response}
        for length, response in ((3, {"choices": [{"message": asks("u")}]}), (7, ANSWERS["chat"]))
    ]
    (row,) = read(write(tmp_path / "log.jsonl", lines(*records)))
    assert (row["errors"], row["error"]) == (2, "Timeout")
    failed = {"type": "tool_result", "tool_use_id": "t", "content": "no such place", "is_error": True}
    used = {"type": "tool_use", "id": "t", "name": "look", "input": {}}
    messages = [*turns("Here?"), {"role": "assistant", "content": [used]}, {"role": "user", "content": [failed]}]
    record = {"request": {"model": "m", "messages": messages}, "response": ANSWERS["anthropic"]}
    (row,) = read(write(tmp_path / "anthropic.jsonl", lines(record)))
    assert (row["errors"], row["error"]) == (1, "no such place")


def _read_stream(path: Path, chunks: list[Any], **labels: Any) -> dict[str, Any]:
    record = {"request": {"model": "m", "messages": turns("Here?")}, "response": chunks, **labels}
    as_it_came = {**record, "response": "".join(f"event: e\ndata: {json.dumps(chunk)}\n\n" for chunk in chunks)}
    row, other = read(write(path / "log.jsonl", lines(record, as_it_came)))
    assert row["messages"] == other["messages"]
    return row


def test_responses_that_name_their_predecessor_are_joined(tmp_path: Path) -> None:
    def call(name: str, asked: str, answered: str, second: int, before: str | None = None) -> dict[str, Any]:
        output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": answered}]}]
        response = {"object": "response", "id": name, "created_at": 1700000000 + second, "output": output}
        return {"request": {"model": "m", "input": asked, "previous_response_id": before}, "response": response}

    calls = [
        call("r1", "a", "b", 0),
        call("x", "c", "d", 0),
        call("r2", "e", "f", 1, "r1"),
        call("r3", "e", "f", 2, "r2"),
    ]
    path = write(tmp_path / "log.jsonl", lines(*calls))
    rows = {row["id"]: [message["content"] for message in row["messages"]] for row in read(path)}
    assert rows == {"r1": ["a", "b", "e", "f", "e", "f"], "x": ["c", "d"]}
    assert {row["time"] for row in read(path)} == {"2023-11-14T22:13:20+00:00"}


def test_streams_without_an_end_keep_their_text(tmp_path: Path) -> None:
    chunks = [
        {"type": "response.reasoning_summary_text.delta", "delta": "Hm."},
        {"type": "response.output_text.delta", "delta": "Y"},
        {"type": "response.output_text.delta", "delta": "es"},
        {"type": "response.function_call_arguments.delta", "delta": '{"a": 1}'},
        {"type": "error", "code": "server_error", "message": "cut off"},
    ]
    assert _read_stream(tmp_path, chunks)["messages"][1] == {"role": "assistant", "content": "Yes"}


@pytest.mark.parametrize("end", ["completed", "incomplete"])
def test_streams_of_responses_end_with_the_whole(tmp_path: Path, end: str) -> None:
    whole = {**ANSWERS["responses"], "usage": {"input_tokens": 5, "output_tokens": 2}}
    chunks = [{"type": "response.output_text.delta", "delta": "Y"}, {"type": f"response.{end}", "response": whole}]
    row = _read_stream(tmp_path, chunks)
    assert row["messages"][1] == {"role": "assistant", "content": "Yes"}
    assert (row["input_tokens"], row["output_tokens"]) == (5, 2)


def test_streamed_chat_completions_are_put_together(tmp_path: Path) -> None:
    calls = [{"id": i, "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}} for i in ("t", "u")]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": "Hm"}, {"reasoning_content": "."}, {"content": "Y"}, {"content": "es"}]
    for index, call in enumerate(calls):
        begun = {**call, "index": index, "function": {"name": "look", "arguments": ""}}
        pieces = [{"index": index, "function": {"arguments": piece}} for piece in ('{"a"', ": 1}")]
        deltas += [{"tool_calls": [piece]} for piece in (begun, *pieces)]
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}], "usage": None} for delta in deltas]
    chunks.append({"choices": [{"index": 1, "delta": {"content": "another answer"}}]})
    chunks.append({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}})
    row = _read_stream(tmp_path, chunks)
    said = row["messages"][1]
    assert said == {"role": "assistant", "content": "Yes", "thinking": "Hm.", "tool_calls": said["tool_calls"]}
    assert json.loads(said["tool_calls"]) == calls
    assert (row["input_tokens"], row["output_tokens"]) == (5, 2)


def _block(index: int, begun: dict[str, Any], kind: str, name: str, *pieces: str) -> list[dict[str, Any]]:
    deltas = [{"type": "content_block_delta", "index": index, "delta": {"type": kind, name: text}} for text in pieces]
    return [{"type": "content_block_start", "index": index, "content_block": begun}, *deltas]


def test_streams_of_anthropic_are_put_together(tmp_path: Path) -> None:
    used = {"type": "tool_use", "id": "t", "name": "look"}
    chunks = [
        {"type": "message_start", "message": {"role": "assistant", "usage": {"input_tokens": 5, "output_tokens": 1}}},
        *_block(0, {"type": "thinking", "thinking": ""}, "thinking_delta", "thinking", "Hm", "."),
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "x"}},
        {"type": "ping"},
        *_block(1, {"type": "text", "text": ""}, "text_delta", "text", "Y", "es"),
        *_block(2, {**used, "input": {}}, "input_json_delta", "partial_json", "", '{"a"', ": 1}"),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
    ]
    row = _read_stream(tmp_path, chunks)
    said = row["messages"][1]
    assert said == {"role": "assistant", "content": "Yes", "thinking": "Hm.", "tool_calls": said["tool_calls"]}
    assert json.loads(said["tool_calls"]) == [{"id": "t", "name": "look", "input": {"a": 1}}]
    assert (row["input_tokens"], row["output_tokens"]) == (5, 7)


def test_tool_calls_that_were_cut_off_are_kept(tmp_path: Path) -> None:
    begun = {"type": "tool_use", "id": "t", "name": "look", "input": {}}
    row = _read_stream(tmp_path, _block(0, begun, "input_json_delta", "partial_json", '{"a"'))
    assert json.loads(row["messages"][1]["tool_calls"]) == [{"id": "t", "name": "look", "input": '{"a"'}]


def test_latencies_are_added_up_in_seconds(tmp_path: Path) -> None:
    for number, latency in enumerate(({"delay_ms": 1500}, {"duration_ms": 1500}, {"response_time": 1.5})):
        (row,) = read(write(tmp_path / f"{number}.jsonl", lines(*({**call, **latency} for call in CALLS))))
        assert row["latency"] == 3.0


def _record(*history: str, answer: str) -> dict[str, Any]:
    response = {"choices": [{"message": {"role": "assistant", "content": answer}}]}
    return {"request": {"model": "m", "messages": turns(*history)}, "response": response}


def test_examples_of_a_data_set_of_langsmith(tmp_path: Path) -> None:
    answered = {"message": {"role": "assistant", "content": NIHAO}}
    example = {"inputs": {"messages": turns(HELLO, SALAM, SHALOM)}, "outputs": answered, "metadata": {}}
    roles = ("user", "assistant", "user", "assistant")
    assert _said(tmp_path, example) == [list(zip(roles, (HELLO, SALAM, SHALOM, NIHAO)))]


def test_calls_without_a_session_are_joined_by_history(tmp_path: Path) -> None:
    chain = [_record("a", answer="b"), _record("a", "b", "c", answer="d"), _record("a", "b", "c", "d", "e", answer="f")]
    again = _record("a", "b", "c", answer="d2")
    other = _record("x", answer="y")
    rows = read(write(tmp_path / "log.jsonl", lines(chain[2], other, again, chain[0], chain[1])))
    said = {"".join(message["content"] for message in row["messages"]): row for row in rows}
    assert set(said) == {"abcdef", "xy"}
    assert (said["abcdef"]["calls"], said["abcdef"]["branches"]) == (4, 1)


def test_calls_that_could_continue_several_others_stay_apart(tmp_path: Path) -> None:
    records = [_record("hi", answer="hello"), _record("hi", answer="hello"), _record("hi", "hello", "c", answer="d")]
    assert sorted(len(said) for said in _said(tmp_path, *records)) == [2, 2, 4]


_LIMITED = {"error": {"type": "rate_limit_error", "message": "slow down"}}


_FAILURES: list[dict[str, Any]] = [
    {"status_code": 429, "response": _LIMITED},
    {"response": _LIMITED},
    {"status": 503, "response": "no healthy upstream"},
    {"error": "timed out", "response": None},
    {"error": "cut off", "response": {"choices": [{"message": {"role": "assistant", "content": ""}}]}},
]


@pytest.mark.parametrize("session", [{}, {"session_id": "s"}])
def test_a_failed_call_is_part_of_its_retry(tmp_path: Path, session: dict[str, str]) -> None:
    for failure in _FAILURES:
        first, second = _record("a", answer="b"), _record("a", "b", "c", answer="d")
        failed = [{**record, **failure, **session} for record in (first, first, second)]
        answered = [{**record, **session, "status_code": 200} for record in (first, second)]
        calls = [*failed[:2], answered[0], failed[2], answered[1]]
        timed = [{**call, "timestamp": 1714557600 + second} for second, call in enumerate(calls)]
        (row,) = read(write(tmp_path / "log.jsonl", lines(*timed)))
        assert [(message["role"], message["content"]) for message in row["messages"]] == [
            (said["role"], said["content"]) for said in turns("a", "b", "c", "d")
        ]
        assert (row["calls"], row["errors"], row.get("branches")) == (5, 3, None) and row["error"]


def test_failed_calls_stay_apart_from_later_ones(tmp_path: Path) -> None:
    hours = {0: {"response": _LIMITED}, 2: {}, 3: {"response": _LIMITED}}
    calls = [{**_record("a", answer="b"), "timestamp": 1714557600 + 3600 * hour, **hours[hour]} for hour in hours]
    assert sorted(len(said) for said in _said(tmp_path, *calls)) == [1, 1, 2]


def test_helicone_columns_are_labels(tmp_path: Path) -> None:
    record = {
        "request_id": "r",
        "request_created_at": "2024-05-01T10:00:00Z",
        "request_body": json.dumps({"model": "m", "messages": turns("Here?")}),
        "response_body": json.dumps({**ANSWERS["chat"], "usage": None}),
        "request_properties": {"Helicone-Session-Id": "s"},
        "delay_ms": 1500,
        "prompt_tokens": 5,
        "completion_tokens": 2,
        "costUSD": 0.5,
        "feedback_rating": False,
        "scores": {"tone": 3},
    }
    (row,) = read(write(tmp_path / "log.jsonl", lines(record)))
    expected = {"id": "s", "latency": 1.5, "input_tokens": 5.0, "output_tokens": 2.0, "cost": 0.5}
    assert expected.items() <= row.items()
    assert (row["feedback"], row["score_tone"]) == ("negative", 3.0)
