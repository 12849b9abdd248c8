"""Traces of an assistant: spans or runs, of which some are calls to a language model.

A conversation is the messages of one session's calls. Within a trace, a call inside another one counts once; and of
several calls, the one whose answer the trace answers is read (others rewrite, plan or judge). Where the trace keeps the
question as it was asked, that replaces a prompt made of it; documents that were retrieved are a label of the answer.

Sources: https://opentelemetry.io/docs/specs/semconv/gen-ai/ (since 1.37 messages in attributes, before in events),
https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding, https://github.com/traceloop/openllmetry
(``gen_ai.prompt.0.content``), https://arize-ai.github.io/openinference/spec/semantic_conventions.html,
https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields,
https://docs.langchain.com/langsmith/run-data-format, https://www.comet.com/docs/opik/tracing/export_data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from turnlens.formats.bad_input import BadRow
from turnlens.formats.call_sessions import Call, conversations, each_call, exchange, leading_to_last, score_labels
from turnlens.formats.calls import convert
from turnlens.formats.column_names import plain_name
from turnlens.formats.columns import first_of, value_at
from turnlens.formats.format import Format, Head
from turnlens.formats.message_layouts import parsed
from turnlens.formats.message_times import time_and_order
from turnlens.formats.model_bodies import request_messages, response_message
from turnlens.formats.source_file import Source
from turnlens.formats.span_conventions import CONVENTIONS, convention_of, decoded, values_of

Span = dict[str, Any]
_OTLP = ("resourceSpans", "resourceLogs", "resource_spans", "resource_logs")
_PAGES = ("data", "runs", "items", "content")  # of APIs
_NUMBERS = ("input_tokens", "output_tokens", "cost")


def records(source: Source) -> Iterator[tuple[int, Any]]:
    """The conversations of the calls."""
    spans = each_call(source, FORMAT.layout, lambda record: (_span(*span) for span in _spans(record)))
    return conversations(spans, _of_trace)


def _spans(record: dict[str, Any]) -> Iterator[tuple[Span, str]]:
    """The spans of a record, each with the name of its convention."""
    for span in _of_otlp(record):
        yield {**span, "attributes": decoded(span.get("attributes"))}, "otel"
    for item in (item for name in _PAGES if isinstance(record.get(name), list) for item in record[name]):
        if isinstance(item, dict):
            yield from _spans(item)
    for trace in record.get("traces") or ():  # a session of Langfuse
        yield from _spans({**trace, "sessionId": record.get("id")})
    if isinstance(record.get("trace"), dict):  # a file of one trace
        beside = {name: record[name] for name in ("spans", "observations", "scores") if name in record}
        record = record["trace"] | beside
    convention = convention_of(frozenset(record))
    if convention is None:
        return
    plain = record if convention == "otel" else {plain_name(name): value for name, value in record.items()}
    children = [child for name in ("spans", "observations", "child_runs") for child in parsed(plain.get(name)) or ()]
    yield plain, convention
    trace = {"trace_id": plain.get("trace_id") or plain.get("id")}
    for child in children:
        if isinstance(child, dict):
            child = {plain_name(name): value for name, value in child.items()}
            parent = CONVENTIONS[convention]["parent"][0]
            for span, _ in _spans({**trace, **child, parent: child.get(parent) or plain["id"]}):
                yield span, convention


def _of_otlp(record: dict[str, Any]) -> Iterator[Span]:
    for name in _OTLP:
        for resource in record.get(name) or ():
            for scope in resource.get(name.replace("resource", "scope")) or ():
                yield from scope.get("spans") or scope.get("logRecords") or scope.get("log_records") or ()


def _span(record: Span, convention: str) -> Call:
    """The parts of a span that are read, with all that the calls of a model have beside messages."""
    got = values_of(record, convention)
    start, order = time_and_order(_seconds(got["start"]))
    _, end = time_and_order(_seconds(got["end"]))
    latency = _number(got.get("latency"))
    return {
        **{name: got.get(name) for name in ("span", "parent", "input", "output", "system", "model", "kind", "events")},
        "trace": str(got["trace"] or got["span"]),
        "session": str(got["session"]) if got["session"] else None,
        "order": order,
        "time": start,
        "latency": max(end - order, 0.0) if end and order else latency,  # Langfuse's page writes milliseconds
        "error": _error(record, got),
        "documents": _documents(got.get("documents") or got["output"]) if got["kind"] == "retriever" else [],
        "labels": score_labels(parsed(got["scores"])) | score_labels(got["evaluations"]),
        **{name: _number(got[name]) for name in _NUMBERS},
    }


def _error(record: Span, got: dict[str, Any]) -> str | None:
    status = record.get("status")
    status = status if isinstance(status, dict) else {"code": status}
    codes = (status.get("code"), status.get("status_code"), record.get("status_code"), record.get("level"))
    if not any(code in (2, "STATUS_CODE_ERROR", "ERROR", "error") for code in codes):
        return str(got["error"]) if got.get("error") else None
    messages = (got.get("error"), got.get("failure"), status.get("message"), status.get("description"))
    return str(next(filter(None, (*messages, record.get("status_message"))), "error"))


def _seconds(value: Any) -> Any:
    """A time; numbers of nanoseconds as seconds."""
    number = _number(value)
    return number / 1e9 if number is not None and number > 1e17 else value


def _number(value: Any) -> float | None:
    with suppress(TypeError, ValueError):
        return float(value)
    return None


def _documents(retrieved: Any) -> list[str]:
    """The texts of retrieved documents."""
    retrieved = retrieved.get("documents", retrieved.get("output")) if isinstance(retrieved, dict) else retrieved
    texts = []
    for document in retrieved if isinstance(retrieved, list) else ():
        inner = document.get("document", document) if isinstance(document, dict) else document
        names = ("document.content", "page_content", "content", "text")
        text = first_of(inner, names) if isinstance(inner, dict) else inner
        texts += [text] if isinstance(text, str) else []
    return texts


def _of_trace(spans: list[Span]) -> list[Call]:
    """The calls of a trace that hold its question and answer; the first has the labels of the whole trace."""
    by_id = _by_id(spans)
    spans = list(by_id.values())
    for span in spans:
        span["messages"], span["system"] = _messages_and_system(span)
    models = [span for span in spans if span["kind"] == "llm" and not _is_inside_another(span, by_id)]
    roots = [span for span in spans if not span["parent"]]
    roots = roots or [span for span in spans if span["parent"] not in by_id]
    answered = [span for span in models if span["messages"]]
    root = next((span for span in roots if span["messages"] and span["kind"] is None), None)
    answered = _calls_of_answer(answered, root) if root is not None else answered
    calls = [{name: span[name] for name in ("messages", "system", "model", "time")} for span in answered]
    calls = calls or [{"messages": [], "model": None}]
    documents = [text for span in spans for text in span["documents"]]
    if documents and answered and calls[-1]["messages"][-1]["role"] == "assistant":
        calls[-1]["messages"][-1]["documents"] = documents
    labels: Call = {"calls": len(models) or 1, "time": _first(spans, "time"), "error": _first(spans, "error")}
    labels["errors"] = sum(bool(span["error"]) for span in spans)
    labels["model"] = calls[0]["model"] or _first(models, "model")
    labels |= {name: _sum(models, name) or _sum(roots, name) for name in _NUMBERS}
    labels["latency"] = _sum(roots, "latency")
    for span in spans:
        labels |= span["labels"]
    calls[0] |= labels
    return calls


def _first(spans: Iterable[Span], name: str) -> Any:
    return next((span[name] for span in spans if span[name]), None)


def _sum(spans: Iterable[Span], name: str) -> float | None:
    values = [span[name] for span in spans if span[name] is not None]
    return sum(values) if values else None


def _by_id(spans: list[Span]) -> dict[str, Span]:
    """The spans by their ids, in order of time; records of a log about a span are added to it."""
    by_id: dict[str, Span] = {}
    for number, span in enumerate(spans):
        known = by_id.setdefault(str(span["span"] or f"\0{number}"), span)
        if known is not span:
            known["events"] += span["events"]
            known |= {name: value for name, value in span.items() if value and not known.get(name)}
    return by_id


def _is_inside_another(span: Span, by_id: dict[str, Span]) -> bool:
    """Return whether a call of a model is part of a larger one, as a client's within a framework's."""
    passed = set()
    while span["parent"] in by_id and span["parent"] not in passed:
        passed.add(span["parent"])
        span = by_id[span["parent"]]
        if span["kind"] == "llm" and span["messages"]:
            return True
    return False


def _messages_and_system(span: Span) -> tuple[list[dict[str, Any]], str | None]:
    """The messages of a span, and its system prompt."""
    if span["kind"] in ("apart", "retriever"):
        return [], None
    history = [message for is_answer, message in span["events"] if not is_answer]
    answers = [message for is_answer, message in span["events"] if is_answer]
    system: str | None = None
    messages: list[dict[str, Any]] = []
    reply = None
    with suppress(BadRow):
        system, messages = request_messages(span["input"] if span["input"] is not None else history)
    prompt = span["system"] or value_at(span["output"], "instructions")  # a response of OpenAI's repeats them
    if prompt is not None:
        with suppress(BadRow):
            system = request_messages([{"role": "system", "content": prompt}])[0]
    with suppress(BadRow):
        reply = response_message(span["output"] if span["output"] is not None else answers)
    return exchange(messages, reply, span["time"]), system


def _calls_of_answer(calls: list[Span], root: Span) -> list[Span]:
    """The calls that give the trace's answer, with the question as it was asked; else the whole trace."""
    question, end = _question(root), root["messages"][-1]
    answered = end["content"].strip() if end["role"] == "assistant" else ""
    if question is None:
        return calls or [root]
    asked_as = question["content"].strip()
    ends = [n for n, call in enumerate(calls) if answered and call["messages"][-1]["content"].strip() == answered]
    chosen = leading_to_last(calls[: ends[-1] + 1]) if ends else []
    chosen = chosen or [call for call in calls if asked_as and (_question(call) or {}).get("content") == asked_as]
    for call in chosen:
        prompt = _question(call)
        if prompt is None and call is chosen[0]:  # the provider keeps the history
            call["messages"].insert(0, question)
        elif asked_as and prompt is not None and asked_as in prompt["content"]:
            prompt["content"] = asked_as
    return chosen or [root]


def _question(span: Span) -> dict[str, Any] | None:
    return next((message for message in reversed(span["messages"]) if message["role"] == "user"), None)


def matches(head: Head) -> bool:
    """Match OTLP's own names, or the names of one convention together."""
    nested = any(convention_of(head.inner.get(name, frozenset())) for name in ("trace", "traces", *_PAGES))
    return nested or not head.keys.isdisjoint(_OTLP) or convention_of(head.keys) is not None


FORMAT = Format(
    name="spans",
    description="traces of an assistant (OpenTelemetry, OpenInference, Langfuse, LangSmith, Opik)",
    layout='spans with ids of span, parent and trace, a time, and what went in and came out, such as {"trace_id", '
    '"id", "parent_run_id", "start_time", "inputs", "outputs"}',
    records=records,
    convert=convert,
    matches=matches,
    spans_files=True,
)
