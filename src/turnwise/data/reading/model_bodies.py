"""The bodies of requests to language models and of their responses, as OpenAI and Anthropic define them."""

from __future__ import annotations

from typing import Any

from turnwise.data.reading.parts import add_labels, text_and_labels
from turnwise.data.reading.source import BadRow

_CALLS = ("function_call", "reasoning", "function_call_output")  # items of Responses beside messages


def asked(request: dict[str, Any]) -> tuple[str | None, list[dict[str, Any]]]:
    """The system prompt and the other messages of a request."""
    items = request.get("messages", request.get("input"))
    items = [{"role": "user", "content": items}] if isinstance(items, str) else items
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise BadRow("found a request without a list of messages under 'messages' or 'input'")
    system = [_content(request.get(name))[0] for name in ("system", "instructions") if request.get(name)]
    messages = [_message(item) for item in items]
    apart = [message["content"] for message in messages if message["role"] in ("system", "developer")]
    said = [message for message in messages if message["role"] not in ("system", "developer")]
    return "\n".join([*system, *apart]) or None, said


def answer(response: Any) -> dict[str, Any] | None:
    """The message of a response that came at once; None where it has none, as after an error."""
    if isinstance(response, str):
        return {"role": "assistant", "content": response} if response else None
    if not isinstance(response, dict):
        return None
    if response.get("choices"):
        return _message({"role": "assistant", **response["choices"][0]["message"]})
    if isinstance(response.get("output"), list):
        message: dict[str, Any] = {"role": "assistant", "content": ""}
        for item in map(_message, response["output"]):
            message["content"] += item.pop("content")
            add_labels(message, {name: value for name, value in item.items() if name != "role"})
        return message
    return _message(response) if response.get("role") == "assistant" else None


def usage(response: Any) -> dict[str, Any]:
    """The tokens that a response counts."""
    counts = (response.get("usage") if isinstance(response, dict) else None) or {}
    return {
        "input_tokens": counts.get("input_tokens", counts.get("prompt_tokens")),
        "output_tokens": counts.get("output_tokens", counts.get("completion_tokens")),
    }


def _message(item: dict[str, Any]) -> dict[str, Any]:
    kind = item.get("type")
    if kind in _CALLS:
        part = {**item, "thinking": _summary(item)} if kind == "reasoning" else item
        _, labels = text_and_labels([part])
        return {"role": "tool" if kind == "function_call_output" else "assistant", "content": "", **labels}
    role = item["role"]
    text, labels = _content(item.get("content"))
    if role == "tool":
        return {"role": role, "content": "", "tool_results": [{"call_id": item.get("tool_call_id"), "content": text}]}
    if role == "user" and not text and list(labels) == ["tool_results"]:  # as Anthropic gives them back
        role = "tool"
    message = {"role": role, "content": text, **labels}
    further = {"tool_calls": item.get("tool_calls"), "refusal": item.get("refusal")}
    add_labels(message, {**further, "thinking": item.get("reasoning_content")})
    return message


def _summary(item: dict[str, Any]) -> str:
    return "\n".join(str(part.get("text") or "") for part in item.get("summary") or ())


def _content(content: Any) -> tuple[str, dict[str, Any]]:
    return text_and_labels(content) if isinstance(content, list) else (str(content or ""), {})
