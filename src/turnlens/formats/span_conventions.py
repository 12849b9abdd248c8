"""Conventions of traces: the names of a span's fields in each, and values, lists and events of OpenTelemetry."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from turnlens.formats.column_names import plain_name
from turnlens.formats.columns import value_at
from turnlens.formats.message_layouts import parsed, unquoted

# For each meaning its names, of which the first with a value counts; a dot leads into an object.
_OTEL = {
    "trace": "context.trace_id traceId trace_id",
    "span": "context.span_id spanId span_id",
    "parent": "parent_id parentSpanId parent_span_id",
    "start": "start_time startTimeUnixNano timeUnixNano",
    "end": "end_time endTimeUnixNano",
    "session": "session.id gen_ai.conversation.id langfuse.session.id traceloop.association.properties.session_id "
    "traceloop.association.properties.conversation_id traceloop.association.properties.thread_id "
    "ai.telemetry.metadata.sessionId ai.telemetry.metadata.session_id",
    "kind": "openinference.span.kind gen_ai.operation.name langfuse.observation.type llm.request.type "
    "traceloop.span.kind ai.operationId span_kind",
    "model": "gen_ai.response.model gen_ai.request.model llm.model_name ai.model.id",
    "system": "gen_ai.system_instructions",
    "input": "gen_ai.input.messages llm.input_messages gen_ai.prompt ai.prompt.messages langfuse.observation.input "
    "traceloop.entity.input input.value langfuse.trace.input ai.prompt",
    "output": "gen_ai.output.messages llm.output_messages gen_ai.completion langfuse.observation.output "
    "traceloop.entity.output output.value langfuse.trace.output ai.response.text",
    "input_tokens": "gen_ai.usage.input_tokens gen_ai.usage.prompt_tokens llm.token_count.prompt ai.usage.inputTokens "
    "ai.usage.promptTokens",
    "output_tokens": "gen_ai.usage.output_tokens gen_ai.usage.completion_tokens llm.token_count.completion "
    "ai.usage.outputTokens ai.usage.completionTokens",
    "cost": "llm.cost.total gen_ai.usage.cost gen_ai.usage.total_cost",
    "error": "exception.message error.message error.type",
    "documents": "retrieval.documents",
    "scores": "annotations",
}
_LANGFUSE = {
    "trace": "trace_id",
    "span": "id",
    "parent": "parent_observation_id",
    "start": "start_time timestamp",
    "end": "end_time",
    "session": "session_id metadata.thread_id",
    "kind": "type",
    "model": "provided_model_name model",
    "input": "input",
    "output": "output",
    "input_tokens": "usage_details.input usage.input usage.promptTokens input_usage prompt_tokens input_tokens",
    "output_tokens": "usage_details.output usage.output usage.completionTokens output_usage completion_tokens "
    "output_tokens",
    "cost": "total_cost cost_details.total calculated_total_cost",
    "latency": "latency",
    "failure": "status_message",
    "scores": "scores",
}
_LANGSMITH = {
    "trace": "trace_id",
    "span": "id",
    "parent": "parent_run_id parent_run_ids",
    "start": "start_time",
    "end": "end_time",
    "session": "extra.metadata.thread_id extra.metadata.session_id extra.metadata.conversation_id thread_id "
    "metadata.thread_id metadata.session_id metadata.conversation_id",
    "kind": "run_type",
    "model": "extra.metadata.ls_model_name extra.invocation_params.model extra.invocation_params.model_name",
    "input": "inputs",
    "output": "outputs",
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "cost": "total_cost",
    "error": "error",
    "scores": "feedback_stats",
}
_OPIK = {
    **_LANGFUSE,
    "parent": "parent_span_id",
    "session": "thread_id metadata.thread_id metadata.session_id",
    "input_tokens": "usage.prompt_tokens",
    "output_tokens": "usage.completion_tokens",
    "cost": "total_estimated_cost",
    "failure": "",
    "error": "error_info.message error_info.exception_type",
    "scores": "feedback_scores",
}
CONVENTIONS = {
    name: {meaning: tuple(paths.split()) for meaning, paths in table.items()}
    for name, table in {"otel": _OTEL, "langfuse": _LANGFUSE, "langsmith": _LANGSMITH, "opik": _OPIK}.items()
}
# The meaning of a span's kind; any other is a step that holds others.
_KINDS = {
    **dict.fromkeys(("llm", "generation", "chat", "text_completion", "completion", "generate_content"), "llm"),
    **dict.fromkeys(("ai.generate_text.do_generate", "ai.stream_text.do_stream"), "llm"),
    **dict.fromkeys(("tool", "execute_tool", "embedding", "embeddings", "evaluator", "guardrail", "reranker"), "apart"),
    **dict.fromkeys(("retriever", "retrieval"), "retriever"),
}
# Names of which a record of each product has some beside those that are required; in lower case with underscores.
_SIGNS = """
langfuse: id trace_id type start_time: usage_details parent_observation_id level
langsmith: run_type inputs: trace_id dotted_order parent_run_id parent_run_ids session_id
opik: id start_time input output: thread_id feedback_scores total_estimated_cost span_count parent_span_id error_info
langfuse: id input output: parent_observation_id usage_details completion_start_time html_path bookmarked session_id
""".strip().splitlines()
_TIMES = {"timestamp", "start_time"}
_EVENTS = re.compile(r"gen_ai\.(?:(system|user|assistant|tool)\.message|choice|content\.(prompt|completion))")
_IN_LIST = re.compile(r"(?:attributes\.)?(.+?)\.(\d+(?:\..*)?)")
_KEPT = ("role", "content", "tool_calls", "tool_call_id", "parts")


@lru_cache(1024)
def convention_of(keys: frozenset[str]) -> str | None:
    """The convention of a record with these keys."""
    if {"context.trace_id", "context.span_id"} & keys or {"context", "attributes"} <= keys:
        return "otel"
    if "span_id" in keys and ({"trace_id", "attributes"} <= keys or any(key.startswith("attributes.") for key in keys)):
        return "otel"
    plain = {plain_name(key) for key in keys}
    for name, required, signs in (line.split(": ") for line in _SIGNS):
        if plain >= set(required.split()) and plain & set(signs.split()) and plain & _TIMES:
            return name
    return None


def decoded(value: Any) -> Any:
    """A value of OTLP, ``{"stringValue": …}``, and a list of attributes, as plain values."""
    if isinstance(value, list) and all(isinstance(item, dict) and "key" in item for item in value):
        return {item["key"]: decoded(item.get("value")) for item in value}
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind in ("arrayValue", "array_value"):
        return [decoded(item) for item in inner.get("values") or ()]
    if kind in ("kvlistValue", "kvlist_value"):
        return decoded(inner.get("values") or [])
    if kind in ("intValue", "int_value"):
        return int(inner)
    return inner if kind.endswith(("Value", "_value")) else value


def with_lists(attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes with those of one list, such as ``llm.input_messages.0.message.role``, put together.

    >>> with_lists({"a.b.0.role": "user", "a.b.1.role": "assistant", "c": 1})
    {'c': 1, 'a.b': [{'role': 'user'}, {'role': 'assistant'}]}
    """
    lists: dict[str, dict[str, Any]] = {}
    plain: dict[str, Any] = {}
    for name, value in attributes.items():
        match = _IN_LIST.fullmatch(name)
        if match is None:
            plain[name.removeprefix("attributes.")] = parsed(value)
        else:
            lists.setdefault(match[1], {})[match[2]] = value
    return plain | {name: _gathered(items) for name, items in lists.items()}


def values_of(record: dict[str, Any], convention: str) -> dict[str, Any]:
    """The values of a span by their meanings, its kind as `_KINDS` has it, and its ``events`` and ``evaluations``."""
    attributes, events = parsed(record.get("attributes")), _events(record)
    # of a call, its attributes may be in its event, where a span must stay small
    details = [e["attributes"] for e in events if e.get("name") == "gen_ai.client.inference.operation.details"]
    places = [with_lists(place) for place in (attributes, record, *details) if isinstance(place, dict)]
    got = {meaning: _value_of(places, names) for meaning, names in CONVENTIONS[convention].items()}
    if _is_json(record, attributes):
        got |= {name: unquoted(got[name]) for name in ("input", "output")}
    got["parent"] = got["parent"][-1] if isinstance(got["parent"], list) else got["parent"]  # all above it
    got |= {"events": _messages_in_events(record, events), "evaluations": _evaluations(events)}
    is_call = got["kind"] is None and (got["events"] or got["model"])
    kind = _KINDS.get(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(got["kind"] or "")).lower())
    return got | {"kind": "llm" if is_call else kind}


def _value_of(places: list[dict[str, Any]], names: tuple[str, ...]) -> Any:
    """The first value under these names that is not empty."""
    values = (parsed(value_at(place, name)) for name in names for place in places)
    return next((value for value in values if value not in (None, "", [])), None)


def _is_json(record: dict[str, Any], attributes: Any) -> bool:
    """Return whether input and output are JSON inside texts: in Langfuse's page and table, and of functions."""
    known = attributes if isinstance(attributes, dict) else {}
    kinds = (known.get("input.mime_type"), known.get("output.mime_type"))
    return isinstance(record.get("metadata"), str) or "traceloop.span.kind" in known or "application/json" in kinds


def _gathered(flat: dict[str, Any]) -> Any:
    """``{"0.role": "user"}`` as ``[{"role": "user"}]``."""
    if set(flat) == {""}:
        return flat[""]
    groups: dict[str, dict[str, Any]] = {}
    for key, value in flat.items():
        first, _, rest = key.partition(".")
        groups.setdefault(first, {})[rest] = value
    if all(name.isdecimal() for name in groups):
        return [_gathered(groups[name]) for name in sorted(groups, key=int)]
    return {name: _gathered(inner) for name, inner in groups.items()}


def _messages_in_events(record: dict[str, Any], events: list[dict[str, Any]]) -> list[tuple[bool, dict[str, Any]]]:
    """The messages in the events of a span, or in a record of a log that is one; each with whether it is the answer."""
    attributes = record.get("attributes")
    own = record.get("eventName") or record.get("event_name") or value_at(attributes, "event.name")
    logged = [{"name": own, "body": decoded(record.get("body")), "attributes": attributes}] if own else []
    inside = parsed(attributes.get("events")) if isinstance(attributes, dict) else None  # as Logfire does
    written = [{"name": e.get("event.name"), "body": e} for e in inside or () if isinstance(e, dict)]
    return [message for event in (*logged, *events, *written) for message in _messages_in(event)]


def _events(record: dict[str, Any]) -> list[dict[str, Any]]:
    events = parsed(record.get("events")) or ()
    return [{**event, "attributes": decoded(event.get("attributes"))} for event in events if isinstance(event, dict)]


def _evaluations(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Scores in the events of a span, as ``{"name", "value"}``."""
    results = [e["attributes"] for e in events if e.get("name") == "gen_ai.evaluation.result"]
    named = [{name.removeprefix("gen_ai.evaluation."): value for name, value in t.items()} for t in results if t]
    return [{"name": n.get("name"), "value": n.get("score.value", n.get("score.label"))} for n in named]


def _messages_in(event: dict[str, Any]) -> list[tuple[bool, dict[str, Any]]]:
    name, attributes = str(event.get("name")), event.get("attributes") or {}
    match = _EVENTS.fullmatch(name)
    if match is None:
        return []
    if match[2]:  # all messages in one event
        content = parsed(attributes.get(f"gen_ai.{match[2]}"))
        role = "user" if match[2] == "prompt" else "assistant"
        contents = content if isinstance(content, list) else [{"content": content}]
        return [(match[2] == "completion", _kept({"role": role, **message})) for message in contents]
    body = event.get("body") or parsed(attributes.get("gen_ai.event.content")) or attributes
    body = body if isinstance(body, dict) else {"content": body}
    if match[1]:
        call = {"tool_call_id": body["id"]} if match[1] == "tool" and body.get("id") else {}
        return [(False, _kept({"role": match[1], **body, **call}))]
    message = parsed(body.get("message")) or body
    message = message if isinstance(message, dict) else {"content": message}
    # an index above 0 is another answer to the same request
    return [] if body.get("index") else [(True, _kept({"role": "assistant", **body, **message}))]


def _kept(message: dict[str, Any]) -> dict[str, Any]:
    return {name: parsed(message[name]) if name == "tool_calls" else message[name] for name in _KEPT if name in message}
