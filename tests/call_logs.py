"""One session of an assistant as each log of calls writes it, two files for each, by hand after the specifications.

The assistant thinks and calls a tool before it answers, so the second request repeats all of the first and its answer.
"""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

QUESTION, ANSWER = "Wo ist es? 🙂", "那里。"
SAID = [("user", QUESTION), ("assistant", ""), ("tool", ""), ("assistant", ANSWER)]
Body = dict[str, Any]
_MINUTES = (0, 1)


def _lines(rows: Any) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _completions(second: int, streamed: bool = False) -> tuple[Body, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    thought = {"role": "assistant", "content": None, "reasoning_content": "Hm.", "tool_calls": [call]}
    history: list[Body] = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": QUESTION}]
    history += [thought, {"role": "tool", "tool_call_id": "c1", "content": "a cake"}] if second else []
    message = {"role": "assistant", "content": ANSWER} if second else thought
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    if not streamed:
        return {"model": "m", "messages": history}, {"choices": [{"index": 0, "message": message}], "usage": usage}
    pieces = [{"content": ANSWER[0]}, {"content": ANSWER[1:]}] if second else [{"reasoning_content": "Hm."}]
    pieces += [] if second else [{"tool_calls": [{"index": 0, **call}]}]
    chunks = [{"choices": [{"index": 0, "delta": piece}]} for piece in pieces]
    return {"model": "m", "messages": history, "stream": True}, [*chunks, {"choices": [], "usage": usage}]


def _responses(second: int, streamed: bool = False) -> tuple[Body, Any]:
    thought = [
        {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
    ]
    items: list[Body] = [{"role": "user", "content": [{"type": "input_text", "text": QUESTION}]}]
    items += [*thought, {"type": "function_call_output", "call_id": "c1", "output": "a cake"}] if second else []
    content = [{"type": "output_text", "text": ANSWER, "annotations": []}]
    output = [{"type": "message", "role": "assistant", "content": content}] if second else thought
    response = {"object": "response", "output": output, "usage": {"input_tokens": 5, "output_tokens": 2}}
    request = {"model": "m", "instructions": "Be kind.", "input": items}
    done = {"type": "response.completed", "response": response}
    begun = {"type": "response.output_text.delta", "delta": "…"}
    return request, f"data: {json.dumps(begun)}\n\ndata: {json.dumps(done)}\n\n" if streamed else response


def _anthropic(second: int, streamed: bool = False) -> tuple[Body, Any]:
    use = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    thought = [{"type": "thinking", "thinking": "Hm.", "signature": "x"}, use]
    history: list[Body] = [{"role": "user", "content": QUESTION}]
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "a cake"}
    history += [{"role": "assistant", "content": thought}, {"role": "user", "content": [result]}] if second else []
    content = [{"type": "text", "text": ANSWER}] if second else thought
    usage = {"input_tokens": 5, "output_tokens": 2}
    request = {"model": "m", "system": [{"type": "text", "text": "Be kind."}], "messages": history}
    if not streamed:
        return request, {"type": "message", "role": "assistant", "content": content, "usage": usage}
    begun = {"type": "message_start", "message": {"role": "assistant", "usage": usage}}
    blocks = [{"type": "content_block_start", "index": n, "content_block": block} for n, block in enumerate(content)]
    return request, [begun, *blocks, {"type": "message_stop"}]


def _plain(minute: int, request: Body, response: Any) -> Body:
    return {"session_id": "s", "timestamp": _time(minute), "request": request, "response": response}


def _time(minute: int) -> str:
    return f"2024-05-01T10:0{minute}:00Z"


def _helicone(minute: int, request: Body, response: Any) -> Body:
    row = {"request_id": f"r{minute}", "request_created_at": _time(minute), "request_properties": None}
    row |= {"properties": {"Helicone-Session-Id": "s"}, "request_path": "/v1", "provider": "OPENAI", "delay_ms": 1500}
    return {**row, "request_body": request, "response_body": response, "request_model": "m", "costUSD": 0.5}


def _litellm(minute: int, request: Body, response: Any) -> Body:
    """``StandardLoggingPayload``, as callbacks and buckets get it."""
    row = {"id": f"r{minute}", "trace_id": "s", "call_type": "acompletion", "status": "success", "response_time": 1.5}
    row |= {"startTime": 1714557600.0 + 60 * minute, "model": "m", "response_cost": 0.5, "metadata": {}}
    return {**row, "messages": request["messages"], "response": response, "model_parameters": {}}


def _spend_log(minute: int, request: Body, response: Any) -> Body:
    """A row of ``LiteLLM_SpendLogs``, the proxy's table."""
    row = {"request_id": f"r{minute}", "call_type": "acompletion", "api_key": "", "spend": 0.5, "model": "m"}
    row |= {"startTime": f"2024-05-01 10:0{minute}:00", "session_id": "s", "metadata": {}, "request_tags": []}
    return {**row, "request_duration_ms": 1500, "messages": request["messages"], "response": response}


def _csv(rows: list[Body]) -> str:
    written = io.StringIO()
    writer = csv.DictWriter(written, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: value if isinstance(value, str | float) else json.dumps(value) for name, value in row.items()}
        for row in rows
    )
    return written.getvalue()


def _log(write: Callable[..., Body], bodies: Callable[..., tuple[Body, Any]], streamed: bool = False) -> list[Body]:
    return [write(minute, *bodies(minute, streamed)) for minute in _MINUTES]


LOGS: dict[str, tuple[str, Any]] = {
    "chat completions": ("calls.jsonl", _lines(_log(_plain, _completions))),
    "chat completions streamed": ("calls.json", _log(_plain, _completions, True)),
    "responses": ("calls.json", _log(_plain, _responses)),
    "responses streamed": ("calls.jsonl", _lines(_log(_plain, _responses, True))),
    "anthropic": ("calls.jsonl", _lines(_log(_plain, _anthropic))),
    "anthropic streamed": ("calls.json", _log(_plain, _anthropic, True)),
    "helicone": ("export.jsonl", _lines(_log(_helicone, _completions))),
    "helicone csv": ("export.csv", _csv(_log(_helicone, _anthropic))),
    "litellm": ("log.json", _log(_litellm, _completions)),
    "litellm spend": ("spend.csv", _csv(_log(_spend_log, _completions))),
}
