"""Logs of calls to a language model: records that hold a request and its response.

The bodies are those of OpenAI's Chat Completions and Responses or of Anthropic's Messages, perhaps with the response in
the chunks of a stream. `_LOGS` names where each log keeps them. Calls of one session are one conversation.

Sources: https://platform.openai.com/docs/api-reference/chat, …/responses and …/batch,
https://docs.anthropic.com/en/api/messages, https://docs.helicone.ai/tools/export,
https://docs.litellm.ai/docs/proxy/logging_spec.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

from turnwise.data.reading.format import Format, Head
from turnwise.data.reading.history import joined_calls
from turnwise.data.reading.model_bodies import answer, asked, usage
from turnwise.data.reading.model_streams import whole
from turnwise.data.reading.moments import DateOrder, moment
from turnwise.data.reading.source import BadRow, Source, parse_record

_LOGS = (("request_body", "response_body"), ("request", "response"), ("input", "output"), ("body", "response"))
_LITELLM = {"messages", "response", "call_type"}
_SESSIONS = ("session_id", "Helicone-Session-Id", "litellm_session_id", "conversation_id", "thread_id", "trace_id")
_PLACES = ("properties", "request_properties", "metadata")
_TIMES = ("request_created_at", "startTime", "start_time", "timestamp", "created_at", "created")
_COSTS = ("response_cost", "cost", "cost_usd", "spend")
_LATENCIES = ("latency", "latency_ms", "delay_ms", "response_time", "duration_ms")


def records(source: Source) -> Iterator[tuple[int, Any]]:
    """The calls of each session in order of time. They wait in a temporary file, so that memory stays flat."""
    with closing(sqlite3.connect("")) as calls:
        calls.execute("create table calls (number integer, session text, time real, record text)")
        for number, raw in source.records():
            source.tick()
            try:
                record = parse_record(raw)
                row = (number, _session(record) or f"\0{number}", _order(record), json.dumps(record, default=str))
            except BadRow as problem:
                yield number, problem
                continue
            calls.execute("insert into calls values (?, ?, ?, ?)", row)
        calls.execute("create table sessions as select session, min(number) as first from calls group by session")
        found = calls.execute(
            "select first, session, record from calls join sessions using (session) order by first, time, number"
        )
        first = 0
        group: list[tuple[str, dict[str, Any]]] = []
        for number, session, record in found:
            if group and number != first:
                yield first, group
                group = []
            first = number
            group.append((session, json.loads(record)))
        if group:
            yield first, group


def convert(raw: Any, source: Source) -> dict[str, Any] | None:
    """The conversation of one session's calls; None where nothing was asked."""
    if isinstance(raw, BadRow):
        raise raw
    calls = [_call(record) for _, record in raw]
    messages, branches = joined_calls([call.pop("messages") for call in calls])
    session, first = raw[0]
    own = first.get("custom_id") or first.get("request_id") or None
    row: dict[str, Any] = {"id": own if session.startswith("\0") else session}
    for name in ("system", "model", "error"):
        row[name] = next((call[name] for call in calls if call.get(name)), None)
    for name in ("input_tokens", "output_tokens", "cost", "latency"):
        values = [float(call[name]) for call in calls if call.get(name) is not None]
        row[name] = sum(values) if values else None
    row |= {"time": next((call["time"] for call in calls if call["time"]), None), "calls": len(calls)}
    return {**row, "branches": branches or None, "messages": messages} if messages else None


def _call(record: dict[str, Any]) -> dict[str, Any]:
    request, response = _bodies(record)
    if not request:
        raise BadRow("found a response and no request; join it with the file of requests, by 'custom_id' in a batch")
    system, messages = asked(request)
    response = whole(response)
    time = _time(record)
    said = answer(response)
    if said is not None:
        messages.append({**said, "time": time} if time else said)
    error = record.get("error") or (response.get("error") if isinstance(response, dict) else None)
    return {
        "messages": messages,
        "system": system,
        "model": request.get("model") or record.get("model"),
        "error": (error if isinstance(error, str) else json.dumps(error)) if error else None,
        "time": time,
        "cost": _number(record, _COSTS),
        "latency": _number(record, _LATENCIES),
        **usage(response),
    }


def _bodies(record: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    if record.keys() >= _LITELLM:
        return {"messages": _plain(record["messages"])}, _plain(record["response"])
    asks, answers = next((names for names in _LOGS if names[0] in record), _LOGS[-1])
    request, response = (_plain(record.get(name)) for name in (asks, answers))
    request, response = (
        _plain(body["body"]) if isinstance(body, dict) and "body" in body else body for body in (request, response)
    )
    return request if isinstance(request, dict) else {}, response


def _plain(value: Any) -> Any:
    """JSON in the cell of a table as what it says."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def _session(record: dict[str, Any]) -> str | None:
    for place in (record, *(_plain(record.get(name)) for name in _PLACES), _bodies(record)[0].get("metadata")):
        name = next((name for name in _SESSIONS if isinstance(place, dict) and place.get(name)), None)
        if name is not None:
            return str(place[name])
    return None


def _time(record: dict[str, Any]) -> str | None:
    value = next((record[name] for name in _TIMES if record.get(name)), None)
    with suppress(BadRow):
        return moment(value, "", 0, DateOrder()).labels.get("time") if value else None
    return None


def _order(record: dict[str, Any]) -> float:
    time = _time(record)
    return moment(time, "", 0, DateOrder()).order if time else 0.0


def _number(record: dict[str, Any], names: tuple[str, ...]) -> float | None:
    """The first of these numbers that there is; milliseconds, which a name ends with, as seconds."""
    name = next((name for name in names if record.get(name) not in (None, "")), None)
    with suppress(TypeError, ValueError):
        return None if name is None else float(record[name]) / (1000 if name.endswith("_ms") else 1)
    return None


def matches(head: Head) -> bool:
    """Names of one log together, with a body that is a request's; where the bodies are text, the names are enough."""
    if head.keys >= _LITELLM or {"request_body", "response_body"} <= head.keys:
        return True
    if {"custom_id", "response", "error"} <= head.keys or {"custom_id", "method", "url", "body"} <= head.keys:
        return True
    for asks, answers in _LOGS[1:3]:
        inner = head.inner.get(asks, frozenset())
        if answers in head.keys and ({"messages", "model"} <= inner or {"input", "model"} <= inner or "body" in inner):
            return True
    return False


FORMAT = Format(
    name="calls",
    description="requests to a language model with their responses (OpenAI, Anthropic, batches, Helicone, LiteLLM)",
    layout='{"request": {"model", "messages" or "input"}, "response": {…}, "session_id"?} in each row',
    records=records,
    convert=convert,
    matches=matches,
)
