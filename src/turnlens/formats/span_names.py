"""The names in each convention of traces of what is read of a span, and those by which a convention is known."""

from __future__ import annotations

from functools import lru_cache

from turnlens.formats.column_names import plain_name

# For each meaning the names that it may have, the first that holds something wins; a dot leads into an object.
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
# What a span's kind says that it is; any other is a step that holds others.
KINDS = {
    **dict.fromkeys(("llm", "generation", "chat", "text_completion", "completion", "generate_content"), "llm"),
    **dict.fromkeys(("ai.generate_text.do_generate", "ai.stream_text.do_stream"), "llm"),
    **dict.fromkeys(("tool", "execute_tool", "embedding", "embeddings", "evaluator", "guardrail", "reranker"), "apart"),
    **dict.fromkeys(("retriever", "retrieval"), "retriever"),
}
# Names of which a record of each product has some beside those that are required; in lower case with underscores.
_SIGNS = {
    "langsmith": (
        {"run_type", "inputs"},
        {"trace_id", "dotted_order", "parent_run_id", "parent_run_ids", "session_id"},
    ),
    "opik": (
        {"id", "start_time", "input", "output"},
        {"thread_id", "feedback_scores", "total_estimated_cost", "span_count", "parent_span_id", "error_info"},
    ),
    "langfuse": (
        {"id", "input", "output"},
        {"parent_observation_id", "usage_details", "completion_start_time", "html_path", "bookmarked", "session_id"},
    ),
}
_TIMES = ({"timestamp"}, {"start_time"})


@lru_cache(1024)
def convention_of(keys: frozenset[str]) -> str | None:
    """The convention of a record with these keys."""
    if {"context.trace_id", "context.span_id"} & keys or {"context", "attributes"} <= keys:
        return "otel"
    if "span_id" in keys and ({"trace_id", "attributes"} <= keys or any(key.startswith("attributes.") for key in keys)):
        return "otel"
    plain = {plain_name(key) for key in keys}
    if plain >= {"id", "trace_id", "type", "start_time"} and plain & {
        "usage_details",
        "parent_observation_id",
        "level",
    }:
        return "langfuse"
    for name, (required, signs) in _SIGNS.items():
        if required <= plain and signs & plain and any(time <= plain for time in _TIMES):
            return name
    return None
