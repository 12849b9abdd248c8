"""The values, attributes and events of OpenTelemetry, as JSON has them."""

from __future__ import annotations

import re
from typing import Any

from turnlens.formats.columns import value_at
from turnlens.formats.message_layouts import parsed

_EVENTS = re.compile(
    r"gen_ai\.(system|user|assistant|tool)\.message|gen_ai\.choice|gen_ai\.content\.(prompt|completion)"
)
_IN_LIST = re.compile(r"(?:attributes\.)?(.+?)\.(\d+(?:\..*)?)")
_KEPT = ("role", "content", "tool_calls", "tool_call_id", "parts")


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


def value_of(places: tuple[dict[str, Any], ...], names: tuple[str, ...]) -> Any:
    """The first value under these names that is not empty."""
    values = (parsed(value_at(place, name)) for name in names for place in places)
    return next((value for value in values if value not in (None, "", [])), None)


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


def messages_in_events(record: dict[str, Any]) -> list[tuple[bool, dict[str, Any]]]:
    """The messages in the events of a span, or in a record of a log that is one; each with whether it is the answer."""
    attributes = record.get("attributes")
    own = record.get("eventName") or record.get("event_name") or value_at(attributes, "event.name")
    events = [{"name": own, "body": decoded(record.get("body")), "attributes": attributes}] if own else []
    events += _events(record)
    written = parsed(attributes.get("events")) if isinstance(attributes, dict) else None  # as Logfire does
    events += [{"name": e.get("event.name"), "body": e} for e in written or () if isinstance(e, dict)]
    return [message for event in events for message in _messages_in(event)]


def _events(record: dict[str, Any]) -> list[dict[str, Any]]:
    given = parsed(record.get("events")) or ()
    return [{**event, "attributes": decoded(event.get("attributes"))} for event in given if isinstance(event, dict)]


def details(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Attributes of a call that are in its event, where a span must stay small."""
    return [e["attributes"] for e in _events(record) if e.get("name") == "gen_ai.client.inference.operation.details"]


def evaluations(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Scores in the events of a span, as ``{"name", "value"}``."""
    told = [e["attributes"] for e in _events(record) if e.get("name") == "gen_ai.evaluation.result"]
    named = [{name.removeprefix("gen_ai.evaluation."): value for name, value in t.items()} for t in told if t]
    return [{"name": n.get("name"), "value": n.get("score.value", n.get("score.label"))} for n in named]


def _messages_in(event: dict[str, Any]) -> list[tuple[bool, dict[str, Any]]]:
    name, told = str(event.get("name")), event.get("attributes") or {}
    match = _EVENTS.fullmatch(name)
    if match is None:
        return []
    if match[2]:  # all messages in one event
        content = parsed(told.get(f"gen_ai.{match[2]}"))
        role = "user" if match[2] == "prompt" else "assistant"
        given = content if isinstance(content, list) else [{"content": content}]
        return [(match[2] == "completion", _kept({"role": role, **message})) for message in given]
    body = event.get("body") or parsed(told.get("gen_ai.event.content")) or told
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
