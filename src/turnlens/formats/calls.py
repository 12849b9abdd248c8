"""Logs of calls to a language model: records that hold a request and its response.

The bodies are those of OpenAI's Chat Completions and Responses or of Anthropic's Messages, perhaps with the response in
the chunks of a stream. `_LOGS` names where each log keeps them. A log of one's own may also have the question and the
answer in plain columns beside what is known of the call. Calls of one session are one conversation.

Sources: https://platform.openai.com/docs/api-reference/chat and …/responses, https://docs.anthropic.com/en/api/messages,
https://docs.litellm.ai/docs/proxy/logging_spec, and for Helicone the ``HeliconeRequest`` of
https://github.com/Helicone/helicone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from turnlens.formats.bad_input import BadRow
from turnlens.formats.call_sessions import Call, conversations, each_call, exchange, score_labels, thumb_label
from turnlens.formats.column_names import plain_name
from turnlens.formats.columns import columns_known, conversation_field, first_of, value_at
from turnlens.formats.format import Format, Head, signs
from turnlens.formats.message_layouts import parsed
from turnlens.formats.message_times import time_and_order
from turnlens.formats.model_bodies import joined_stream, request_messages, response_message, token_counts
from turnlens.formats.row_checker import own_labels
from turnlens.formats.source_file import Source

_LOGS = (("request_body", "response_body"), ("request", "response"), ("input", "output"), ("inputs", "outputs"))
_LITELLM = {"messages", "response", "call_type"}
_SESSIONS = ("session_id", "Helicone-Session-Id", "litellm_session_id", "conversation_id", "thread_id", "trace_id")
_PLACES = ("properties", "request_properties", "metadata")
_TIMES = ("request_created_at", "startTime", "start_time", "timestamp", "created_at", "created", "time", "ts")
_NUMBERS = {  # ours -> theirs; those that end with "_ms" are in milliseconds
    "cost": ("response_cost", "cost", "cost_usd", "costUSD", "spend"),
    "latency": ("latency", "latency_ms", "delay_ms", "response_time", "duration_ms", "request_duration_ms"),
    "input_tokens": ("prompt_tokens", "input_tokens"),
    "output_tokens": ("completion_tokens", "output_tokens"),
}
_STATUSES = ("status_code", "response_status", "http_status", "status")
_MODELS = ("model", "request_model", "response_model", "model_id", "model_name")
_KNOWN = {*_SESSIONS, *_TIMES, *_STATUSES, *_MODELS, *(name for names in _NUMBERS.values() for name in names)}
_KNOWN |= {"id", "error", "error_str", "feedback_rating", "scores", *_PLACES}
_FLAT = (  # columns of what was asked, and of what was answered
    "messages prompt query question input user_message user_input",
    "response completion answer output assistant_message assistant_response bot_response",
)
_NOT_FLAT = ("instruction", "request", "chosen")  # of rows to learn from, and of logs that hold bodies
# The words in names of columns that rows to learn from do not have.
_OF_A_CALL = re.compile("(^|_)(model|latency|tokens|cost|spend|status_code|http_status|duration_ms|response_time)(_|$)")


def records(source: Source) -> Iterator[tuple[int, Any]]:
    """The conversations of the calls."""
    for number, row in conversations(each_call(source, FORMAT.layout, partial(_calls, firsts={}))):
        yield number, row if isinstance(row, BadRow) else _with_tool_errors(row)


def _with_tool_errors(row: Call) -> Call:
    """The conversation with the errors of its tools, which count as those of its calls do."""
    results = [result for message in row["messages"] for result in message.get("tool_results") or ()]
    errors = [_as_text(error) for error in map(_tool_error, results) if error]
    first = errors[0] if errors else None
    return {**row, "errors": (row.get("errors") or 0) + len(errors), "error": row.get("error") or first}


def _tool_error(result: dict[str, Any]) -> Any:
    content = parsed(result.get("content"))
    return value_at(content, "error") or (result.get("is_error") and (content or "error"))


def _as_text(error: Any) -> str:
    return error if isinstance(error, str) else json.dumps(error)


def _calls(record: dict[str, Any], firsts: dict[str, str]) -> Iterator[Call]:
    page = record.get("data")  # of an API
    return (_call(call, firsts) for call in (page if isinstance(page, list) else [record]))


def _call(record: dict[str, Any], firsts: dict[str, str]) -> Call:
    flat = None if record.keys() >= _LITELLM else _flat_names(record)
    request, response = _bodies(record, flat)
    if not request:
        raise BadRow("found a response and no request; join it with the requests, for instance by their ids")
    system, messages = request_messages(request)
    response = joined_stream(response)
    places = (*(parsed(record.get(name)) for name in _PLACES), request.get("metadata"))
    metadata = [place for place in places if isinstance(place, dict)]
    time, order = time_and_order(first_of(record, _TIMES) or first_of(response, _TIMES))
    error, reply = _error(record, response), response_message(response)
    if error and (_has_failed(record) or reply == {"role": "assistant", "content": ""}):
        reply = None
    messages = exchange(messages, reply, time)
    numbers = {ours: _number(record, names) for ours, names in _NUMBERS.items()}
    counted = {name: float(count) for name, count in token_counts(response).items() if count is not None}
    call = {
        "id": record.get("request_id") or (record.get("id") if flat else None) or None,
        "session": _session(record, metadata, flat) or _first_of_chain(request, response, len(messages), firsts),
        "trace": None,
        "order": order,
        "messages": messages,
        "system": system,
        "model": request.get("model") or first_of(record, _MODELS),
        "error": _as_text(error) if error else None,
        "time": time,
        "calls": 1,
        "errors": int(bool(error)),
        **numbers,
        **counted,
        "feedback": thumb_label(record.get("feedback_rating")),
        **score_labels(parsed(record.get("scores"))),
    }
    labels = _application_labels(record, request, metadata, flat)
    return labels | {name: value for name, value in call.items() if value is not None or name not in labels}


def _error(record: dict[str, Any], response: Any) -> Any:
    """Return the error that the log has for the call, or None."""
    error = record.get("error") or record.get("error_str") or value_at(response, "error")
    return error or (f"HTTP {_number(record, _STATUSES):.0f}" if _has_failed(record) else None)


def _has_failed(record: dict[str, Any]) -> bool:
    return (_number(record, _STATUSES) or 0) >= 400  # of HTTP


def _bodies(record: dict[str, Any], flat: tuple[str, str] | None) -> tuple[dict[str, Any], Any]:
    if record.keys() >= _LITELLM:
        sent = parsed(record["messages"]) or value_at(parsed(record.get("proxy_server_request")), "messages")
        if not sent:
            raise BadRow("found no messages; LiteLLM keeps them with 'store_prompts_in_spend_logs: true'")
        return {"messages": sent}, parsed(record["response"])
    if flat is not None and (bodies := _flat_bodies(record, flat)) is not None:
        return bodies
    asks, answers = next((names for names in _LOGS if names[0] in record), _LOGS[-1])
    request, response = (parsed(record.get(name)) for name in (asks, answers))
    request, response = (
        parsed(body["body"]) if isinstance(body, dict) and "body" in body else body for body in (request, response)
    )
    return request if isinstance(request, dict) else {}, response


def _session(record: dict[str, Any], metadata: list[dict[str, Any]], flat: tuple[str, str] | None) -> str | None:
    session = next(filter(None, (first_of(place, _SESSIONS) for place in (record, *metadata))), None)
    if session is None and flat and (name := conversation_field(record)):
        session = record[name]
    return None if session in (None, "") else str(session)


def _application_labels(
    record: dict[str, Any], request: dict[str, Any], metadata: list[dict[str, Any]], flat: tuple[str, str] | None
) -> dict[str, Any]:
    """Labels that an application gives its calls: the user, and metadata such as a team or a version.

    Where the columns ``flat`` hold the question and the answer, all other columns are labels, too.
    """
    labels = {name: value for name, value in record.items() if name not in {*flat, *_KNOWN}} if flat else {}
    labels |= {name: place[name] for place in (request, record) for name in ("user", "user_id") if place.get(name)}
    for place in metadata:
        labels |= place
    return {name: value for name, value in own_labels(labels).items() if name not in _SESSIONS}


def _first_of_chain(request: dict[str, Any], response: Any, length: int, firsts: dict[str, str]) -> str | None:
    """Return the conversation of a call of Responses without a history: its id, or that of the first call of its chain.

    Args:
        request: The request, which names the response before it.
        response: Its response.
        length: How many messages both have.
        firsts: The first call of each response so far, by ids of responses.
    """
    if not isinstance(response, dict) or response.get("object") != "response" or not response.get("id"):
        return None
    kept = value_at(response, "conversation.id")
    before = request.get("previous_response_id") or response.get("previous_response_id")
    if kept or before or length <= 2:  # the question and its answer
        firsts[response["id"]] = kept or firsts.get(before or "", before or response["id"])
    return firsts.get(response["id"])


def _number(record: dict[str, Any], names: tuple[str, ...]) -> float | None:
    name = next((name for name in names if record.get(name) not in (None, "")), None)
    with suppress(TypeError, ValueError):
        return None if name is None else float(record[name]) / (1000 if name.endswith("_ms") else 1)
    return None


def _flat_names(keys: Collection[str]) -> tuple[str, str] | None:
    """Return the columns of the question and the answer."""
    asked, answered = (next((name for name in names.split() if name in keys), None) for names in _FLAT)
    return None if asked is None or answered is None or not set(_NOT_FLAT).isdisjoint(keys) else (asked, answered)


def _is_flat(head: Head, whens: Collection[str]) -> bool:
    """Return whether rows are calls with the question and the answer in plain columns.

    Args:
        head: The beginning of the file.
        whens: The columns that say when a call was, or in which session.
    """
    names = _flat_names(head.keys)
    if names is None or columns_known(head.keys) or head.keys.isdisjoint(whens):
        return False
    is_call = any(_OF_A_CALL.search(plain_name(key)) for key in head.keys)
    return is_call and (names[0] == "messages" or names[0] not in head.inner)


def _flat_bodies(record: dict[str, Any], names: tuple[str, str]) -> tuple[dict[str, Any], Any] | None:
    """The request and the response, in the layout of Chat Completions; None where the question is a body itself.

    Args:
        record: The record.
        names: The columns that hold them, of `_flat_names`.

    Raises:
        BadRow: Nothing was asked.
    """
    asked, answered = (parsed(record[name]) for name in names)
    if isinstance(asked, dict):
        return None
    if not asked:
        raise BadRow(f"found nothing under {names[0]!r}; expected what was asked")
    messages = asked if isinstance(asked, list) else [{"role": "user", "content": str(asked)}]
    ends = isinstance(messages[-1], dict) and messages[-1].get("role") == "assistant"
    return {"messages": messages}, None if ends else answered


def convert(raw: Any, source: Source) -> dict[str, Any] | None:
    """The conversation; None for one without messages."""
    return raw if raw["messages"] else None


_holds_bodies = signs(
    "outputs inputs/messages",  # examples of LangSmith's data sets
    "request/messages response/choices|response/content|response/output|response/candidates",
    *("response request/model request/messages|request/input", "response request/body"),
    *("output input/model input/messages|input/input", "output input/body"),
)


def matches(head: Head) -> bool:
    """Match the names of one log with the body of a request; where bodies are text, the names are enough."""
    keys = head.inner.get("data") or head.keys
    are_texts = keys >= _LITELLM or {"request_body", "response_body"} <= keys
    return are_texts or _holds_bodies(head) or _is_flat(head, {*_TIMES, *_SESSIONS})


FORMAT = Format(
    name="calls",
    description="requests to a language model with their responses (OpenAI, Anthropic, Helicone, LiteLLM, your own)",
    layout='{"request": {"model", "messages" or "input"}, "response": {…}, "session_id"?} in each row',
    records=records,
    convert=convert,
    matches=matches,
    spans_files=True,
)
