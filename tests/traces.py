"""One session of an assistant as each convention of traces writes it, made by hand after their specifications.

In its first trace a retriever is asked before the model; in the second the model calls a tool. The prompt of the first
is made of the question and of what was retrieved, and a call that rewrites the question is in it, too.
"""

import json
from datetime import UTC, datetime
from typing import Any

QUESTION, ANSWER, WHY, SO = "Where is it? 🙂", "There.", "لماذا؟", "So."
CALL = {"id": "c1", "name": "look", "arguments": '{"at": 1}'}
DOCUMENT = "It is there."
_TOOL_ASKED = {"role": "assistant", "content": "", "tool_calls": [CALL]}
_TOOL_SAID = {"role": "tool", "content": "a cake", "tool_call_id": "c1"}
_SYSTEM = {"role": "system", "content": "Be kind."}


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


_PAST = [_SYSTEM, _user(QUESTION), _said(ANSWER), _user(WHY)]
# trace, span, parent, kind, second, what went in, what came out
STEPS: list[tuple[str, str, str | None, str, int, Any, Any]] = [
    ("t1", "a", None, "chain", 0, QUESTION, ANSWER),
    ("t1", "b", "a", "llm", 1, [_user(f"Rewrite: {QUESTION}")], _said("Its place?")),
    ("t1", "c", "a", "retriever", 2, "Its place?", [DOCUMENT]),
    ("t1", "d", "a", "llm", 3, [_SYSTEM, _user(f"{DOCUMENT}\n\nQuestion: {QUESTION}")], _said(ANSWER)),
    ("t2", "e", None, "chain", 10, WHY, SO),
    ("t2", "f", "e", "llm", 11, _PAST, _TOOL_ASKED),
    ("t2", "g", "e", "tool", 12, {"at": 1}, "a cake"),
    ("t2", "h", "e", "llm", 13, [*_PAST, _TOOL_ASKED, _TOOL_SAID], _said(SO)),
]
SAID = [("user", QUESTION), ("assistant", ANSWER), ("user", WHY), ("assistant", ""), ("tool", ""), ("assistant", SO)]
_DAY = datetime(2024, 5, 1, 10, tzinfo=UTC)


def _iso(second: int) -> str:
    return datetime.fromtimestamp(_DAY.timestamp() + second, UTC).isoformat().replace("+00:00", "Z")


def _lines(rows: list[Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _openai(message: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
        for call in message.get("tool_calls", ())
    ]
    return {**message, "tool_calls": calls} if calls else message


# OpenTelemetry


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": list(map(_value, value))}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": name, "value": _value(inner)} for name, inner in value.items()]}}
    return {"stringValue": value}


def _otlp(attributes: Any, events: Any = lambda step: [], steps: Any = STEPS) -> dict[str, Any]:
    spans = []
    for step in steps:
        trace, span, parent, kind, second = step[:5]
        start = int((_DAY.timestamp() + second) * 1e9)
        spans.append(
            {
                "traceId": trace * 16,
                "spanId": span * 16,
                "parentSpanId": parent * 16 if parent else "",
                "name": kind,
                "kind": 3,
                "startTimeUnixNano": str(start),
                "endTimeUnixNano": str(start + 2_000_000_000),
                "attributes": _value(attributes(step))["kvlistValue"]["values"],
                "events": [
                    {"name": name, "timeUnixNano": str(start), "attributes": _value(told)["kvlistValue"]["values"]}
                    for name, told in events(step)
                ],
                "status": {},
            }
        )
    scope = {"scope": {"name": "by.hand"}, "spans": spans}
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]}


def _parts(message: dict[str, Any]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"type": "text", "content": message["content"]}] if message["content"] else []
    parts += [{"type": "tool_call", **call} for call in message.get("tool_calls", ())]
    if message["role"] == "tool":
        parts = [{"type": "tool_call_response", "id": "c1", "response": message["content"]}]
    return {"role": message["role"], "parts": parts}


def _usage(second: int, session: bool = True) -> dict[str, Any]:
    named = {"gen_ai.conversation.id": "s1"} if session else {}
    return {**named, "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2}


def _current(step: Any, write: Any = json.dumps, apart: bool = True) -> dict[str, Any]:
    _, _, _, kind, second, given, out = step
    if kind == "chain":
        return {"gen_ai.operation.name": "invoke_agent", "input.value": given, "output.value": out}
    if kind != "llm":
        return {"gen_ai.operation.name": {"tool": "execute_tool", "retriever": "retrieval"}[kind]}
    told = [message for message in given if message["role"] != "system"] if apart else given
    system = {"gen_ai.system_instructions": write([{"type": "text", "content": "Be kind."}])} if told != given else {}
    return {
        "gen_ai.operation.name": "chat",
        **system,
        "gen_ai.input.messages": write(list(map(_parts, told))),
        "gen_ai.output.messages": write([{**_parts(out), "finish_reason": "stop"}]),
        **_usage(second),
    }


def _message_events(step: Any) -> list[tuple[str, dict[str, Any]]]:
    if step[3] != "llm":
        return []
    events = []
    for message in map(_openai, step[5]):
        told = {name: value for name, value in message.items() if name not in ("role", "tool_call_id")}
        told |= {"id": "c1"} if message["role"] == "tool" else {}
        events.append((f"gen_ai.{message['role']}.message", told))
    return [*events, ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": _openai(step[6])})]


def _previous(step: Any) -> dict[str, Any]:
    operation = {"llm": "chat", "tool": "execute_tool"}.get(step[3], "invoke_agent")
    if step[3] == "llm":
        return {"gen_ai.operation.name": operation, **_usage(step[4])}
    whole = {"input.value": step[5], "output.value": step[6]} if step[3] == "chain" else {}
    return {"gen_ai.operation.name": operation, **whole}


def _as_texts(step: Any) -> list[tuple[str, dict[str, Any]]]:
    return [
        (name, {"gen_ai.event.content": json.dumps(told)} if name == "gen_ai.choice" else _json_inside(told))
        for name, told in _message_events(step)
    ]


def _json_inside(told: dict[str, Any]) -> dict[str, Any]:
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in told.items()}


def _logs() -> list[Any]:
    """Events as records of a log beside the spans."""
    records = []
    for step in STEPS:
        for name, body in _message_events(step):
            ids = {"traceId": step[0] * 16, "spanId": step[1] * 16, "timeUnixNano": str(int(_DAY.timestamp() * 1e9))}
            attributes = _value({"gen_ai.system": "openai"})["kvlistValue"]["values"]
            records.append({**ids, "eventName": name, "body": _value(body), "attributes": attributes})
    return [_otlp(_previous), {"resourceLogs": [{"scopeLogs": [{"scope": {}, "logRecords": records}]}]}]


# OpenLLMetry


def _traceloop(step: Any) -> dict[str, Any]:
    _, _, _, kind, _, given, out = step
    session = {"traceloop.association.properties.session_id": "s1"}
    if kind != "llm":
        named = {"traceloop.span.kind": {"chain": "workflow", "retriever": "retriever"}.get(kind, kind)}
        whole = {"inputs": {"question": given}} if kind == "chain" else {"args": given}
        told = {"traceloop.entity.input": json.dumps(whole), "traceloop.entity.output": json.dumps(out)}
        return {**session, **named, **told}
    flat: dict[str, Any] = {"llm.request.type": "chat", "gen_ai.request.model": "m"}
    for name, messages in (("prompt", given), ("completion", [out])):
        for n, message in enumerate(messages):
            for field, value in message.items():
                for m, call in enumerate(value if field == "tool_calls" else ()):
                    flat |= {f"gen_ai.{name}.{n}.tool_calls.{m}.{key}": inner for key, inner in call.items()}
                if field != "tool_calls":
                    flat[f"gen_ai.{name}.{n}.{field}"] = value
    return {**session, **flat, "gen_ai.usage.prompt_tokens": 5, "gen_ai.usage.completion_tokens": 2}


def _console(attributes: Any) -> str:
    """As the SDK prints spans."""
    rows = []
    for step in STEPS:
        trace, span, parent, kind, second = step[:5]
        context = {"trace_id": f"0x{trace}", "span_id": f"0x{span}", "trace_state": "[]"}
        row = {
            "name": kind,
            "context": context,
            "kind": "SpanKind.CLIENT",
            "parent_id": f"0x{parent}" if parent else None,
        }
        times = {"start_time": _iso(second), "end_time": _iso(second + 2), "status": {"status_code": "UNSET"}}
        rows.append({**row, **times, "attributes": attributes(step), "events": [], "links": [], "resource": {}})
    return _lines(rows)


# OpenInference


def _inference_message(message: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {
            "tool_call.id": call["id"],
            "tool_call.function.name": call["name"],
            "tool_call.function.arguments": call["arguments"],
        }
        for call in message.get("tool_calls", ())
    ]
    named = {f"message.{name}": value for name, value in message.items() if name != "tool_calls"}
    return {**named, "message.tool_calls": calls} if calls else named


def _inference(step: Any) -> dict[str, Any]:
    _, _, _, kind, _, given, out = step
    told: dict[str, Any] = {"openinference.span.kind": kind.upper(), "session.id": "s1"}
    if kind == "llm":
        told["llm.input_messages"] = list(map(_inference_message, given))
        told["llm.output_messages"] = [_inference_message(out)]
        told |= {"llm.model_name": "m", "llm.token_count.prompt": 5, "llm.token_count.completion": 2}
        return {**told, "input.value": json.dumps({"messages": given}), "input.mime_type": "application/json"}
    if kind == "retriever":
        told["retrieval.documents"] = [{"document.content": text, "document.score": 0.5} for text in out]
    as_text = given if isinstance(given, str) else json.dumps(given)
    return {**told, "input.value": as_text, "output.value": out if isinstance(out, str) else json.dumps(out)}


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        items = [(f"{path}.{n}", item) for n, item in enumerate(value)]
    elif isinstance(value, dict):
        items = [(f"{path}.{name}" if path else name, item) for name, item in value.items()]
    else:
        return {path: value}
    return {name: inner for start, item in items for name, inner in _flat(item, start).items()}


def _nested(flat: dict[str, Any]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for path, value in flat.items():
        *outer, last = path.split(".")
        place = whole
        for name in outer:
            place = place.setdefault(name, {})
        place[last] = value
    return whole


def phoenix_rows(nested: bool = False) -> list[dict[str, Any]]:
    """Rows of Phoenix's data frame of spans, or its JSON lines."""
    rows = []
    for step in STEPS:
        trace, span, parent, kind, second = step[:5]
        row = {"name": kind, "span_kind": kind.upper(), "parent_id": parent, "status_code": "OK", "status_message": ""}
        row |= {"start_time": _iso(second), "end_time": _iso(second + 2), "events": []}
        told = _inference(step)
        if nested:
            rows.append({**row, "context": {"trace_id": trace, "span_id": span}, "attributes": _nested(told)})
        else:
            named = {f"attributes.{name}": value for name, value in told.items()}
            rows.append({**row, "context.span_id": span, "context.trace_id": trace, **named})
    return rows


# Products


def _langfuse(step: Any) -> dict[str, Any]:
    trace, span, parent, kind, second, given, out = step
    row = {"id": span, "traceId": trace, "parentObservationId": parent, "startTime": _iso(second), "level": "DEFAULT"}
    row |= {"type": {"llm": "GENERATION", "retriever": "RETRIEVER", "tool": "TOOL"}.get(kind, "SPAN"), "name": kind}
    row |= {"endTime": _iso(second + 2), "statusMessage": None, "sessionId": "s1", "environment": "default"}
    if kind == "llm":
        row |= {"model": "m", "usageDetails": {"input": 5, "output": 2, "total": 7}, "costDetails": {"total": 0.25}}
        return {**row, "input": list(map(_openai, given)), "output": _openai(out)}
    return {**row, "input": given, "output": out, "usageDetails": {}}


def langfuse_observations(snake: bool = False) -> list[dict[str, Any]]:
    """Observations as the API has them, or as the export to a blob storage names their fields."""
    rows = list(map(_langfuse, STEPS))
    if not snake:
        return rows
    names = {"model": "provided_model_name"}
    return [{names.get(name) or _snake(name): value for name, value in row.items()} for row in rows]


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def langfuse_trace(name: str, **more: Any) -> dict[str, Any]:
    """A trace by itself: its question and answer."""
    root = next(step for step in STEPS if step[0] == name and step[2] is None)
    row = {"id": name, "timestamp": _iso(root[4]), "name": "chat", "sessionId": "s1", "userId": "u", "release": None}
    row |= {"public": False, "bookmarked": False, "tags": ["x"], "input": root[5], "output": root[6]}
    score = {"name": "helpful", "value": 1, "dataType": "NUMERIC"}
    return {**row, "latency": 2.5, "totalCost": 0.25, "scores": [score], **more}


def _langchain(message: dict[str, Any], write: str) -> dict[str, Any]:
    kind = {"system": "system", "user": "human", "assistant": "ai", "tool": "tool"}[message["role"]]
    told = {name: value for name, value in message.items() if name != "role"}
    if write == "constructor":
        named = {"human": "HumanMessage", "ai": "AIMessage", "system": "SystemMessage", "tool": "ToolMessage"}[kind]
        ids = ["langchain", "schema", "messages", named]
        return {"lc": 1, "type": "constructor", "id": ids, "kwargs": {**told, "type": kind}}
    return {**told, "type": kind, "additional_kwargs": {}, "response_metadata": {}, "example": False}


def langsmith_runs(write: str = "plain", tree: bool = False) -> list[dict[str, Any]]:
    """Runs in a list, or those of each trace within its first."""
    rows: list[dict[str, Any]] = []
    for trace, span, parent, kind, second, given, out in STEPS:
        row = {"id": span, "trace_id": trace, "parent_run_id": parent, "run_type": kind, "name": kind, "error": None}
        row |= {"start_time": _iso(second)[:-1], "end_time": _iso(second + 2)[:-1], "session_id": "project"}
        row |= {
            "dotted_order": span,
            "extra": {"metadata": {"thread_id": "s1", "ls_model_name": "m"}},
            "child_runs": [],
        }
        if kind == "llm":
            row["inputs"] = {"messages": [[_langchain(message, write) for message in given]]}
            message = {"text": out["content"], "message": _langchain(out, write)}
            row["outputs"] = {"generations": [[message]], "llm_output": None}
            row |= {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7, "total_cost": "0.25"}
        elif kind == "retriever":
            row |= {
                "inputs": {"query": given},
                "outputs": {"documents": [{"page_content": t, "metadata": {}} for t in out]},
            }
        else:
            row |= {"inputs": {"question": given}, "outputs": {"answer": out}}
        if parent is None:
            row["feedback_stats"] = {"helpful": {"n": 1, "avg": 1.0}}
        if tree and parent is not None:
            next(root for root in rows if root["id"] == parent)["child_runs"].append(row)
        else:
            rows.append(row)
    return rows


def _opik(step: Any) -> dict[str, Any]:
    trace, span, parent, kind, second, given, out = step
    row = {"id": span, "trace_id": trace, "parent_span_id": parent, "project_id": "p", "name": kind, "tags": None}
    row |= {"type": {"llm": "llm", "tool": "tool"}.get(kind, "general"), "start_time": _iso(second)}
    row |= {"end_time": _iso(second + 2), "metadata": {}, "error_info": None, "thread_id": "s1"}
    if kind == "llm":
        told = {"input": {"messages": list(map(_openai, given))}, "output": {"choices": [{"message": _openai(out)}]}}
        usage = {"prompt_tokens": 5, "completion_tokens": 2}
        return {**row, **told, "model": "m", "usage": usage, "total_estimated_cost": 0.25}
    return {**row, "input": {"question": given}, "output": {"output": out}}


def _opik_file(name: str) -> dict[str, Any]:
    """A trace with its spans, as the command line exports it."""
    steps = [step for step in STEPS if step[0] == name]
    root = _opik(steps[0])
    scores = [{"name": "helpful", "value": 1.0, "source": "ui"}]
    trace = {key: value for key, value in root.items() if key not in ("trace_id", "parent_span_id", "type")}
    trace |= {"id": name, "feedback_scores": scores, "span_count": len(steps)}
    return {"trace": trace, "spans": [{**_opik(step), "parent_span_id": None, "thread_id": None} for step in steps[1:]]}


TRACES: dict[str, tuple[str, Any]] = {
    "otel": ("traces.json", _otlp(_current)),
    "otel structured": ("traces.jsonl", _lines([_otlp(lambda s: _current(s, list, False))])),
    "otel events": ("traces.json", _otlp(_previous, _message_events)),
    "otel events as text": ("traces.jsonl", _lines([_otlp(_previous, _as_texts)])),
    "otel logs": ("logs.jsonl", _lines(_logs())),
    "traceloop": ("traces.json", _otlp(_traceloop)),
    "traceloop console": ("spans.jsonl", _console(_traceloop)),
    "openinference": ("traces.json", _otlp(lambda step: _flat(_inference(step)))),
    "openinference console": ("spans.jsonl", _console(lambda step: _flat(_inference(step)))),
    "phoenix": ("spans.jsonl", _lines(phoenix_rows(nested=True))),
    "phoenix columns": ("spans.jsonl", _lines(phoenix_rows())),
    "langfuse observations": ("observations.json", langfuse_observations()),
    "langfuse export": ("observations.jsonl", _lines(langfuse_observations(snake=True))),
    "langfuse page": ("page.json", {"data": langfuse_observations(), "meta": {"page": 1}}),
    "langsmith": ("runs.jsonl", _lines(langsmith_runs())),
    "langsmith tree": ("runs.json", langsmith_runs("constructor", tree=True)),
    "opik": ("spans.json", list(map(_opik, STEPS))),
    "opik files": ("traces.jsonl", _lines([_opik_file("t1"), _opik_file("t2")])),
}
