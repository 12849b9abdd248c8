"""Requests to language models and their answers, in bodies of APIs and in inputs and outputs of traces.

A response that came in chunks is put together by `joined_stream` as it would have come at once.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

from turnlens.formats.bad_input import BadRow
from turnlens.formats.columns import first_of, value_at
from turnlens.formats.message_layouts import add_labels, instructions_apart, parsed, plain_message, text_and_labels
from turnlens.formats.message_times import time_and_order

_PARTS = ("_call", "_call_output", "reasoning")  # how the types of items of Responses end that are no messages
# Where an input or an output that is an object keeps the messages, and else the text.
_MESSAGES = ("messages", "input", "chat_history", "prompt", "input_messages", "contents", "new_message", "inputs")
_ASKED = "question query input prompt text content message user_input user_message value contents"
_ANSWERS = "output outputs answer response result text content completion output_text generation"
_SYSTEM = ("system", "instructions", "config.system_instruction", "systemInstruction")
_TOKENS = {  # ours -> OpenAI's, Anthropic's, LangChain's and older names
    "input_tokens": ("input_tokens", "prompt_tokens", "input", "promptTokens", "promptTokenCount"),
    "output_tokens": ("output_tokens", "completion_tokens", "output", "completionTokens", "candidatesTokenCount"),
}
_TIMES = ("time", "timestamp", "created_at")
KEPT = ("role", "content", "name", "tool_calls", "tool_results", "thinking", "refusal", "attachments", "documents")
_BLOCKS = {  # type of a piece in Anthropic's streams -> its block, and where its text is
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("tool_use", "partial_json"),
}


def request_messages(request: Any) -> tuple[str | None, list[dict[str, Any]]]:
    """The system prompt and the other messages of a request.

    Raises:
        BadRow: It holds none.
    """
    request = parsed(request)
    items = _messages_of(request)
    if items is None:
        raise BadRow("found a request without a list of messages under 'messages' or 'input'")
    contents = [value_at(request, name) for name in _SYSTEM] if isinstance(request, dict) else []
    system = [_text_of(content) for content in contents if content]
    first, messages = instructions_apart(_joined(items), is_request=True)
    return "\n".join(filter(None, (*system, first))) or None, messages


def response_message(response: Any) -> dict[str, Any] | None:
    """The message of a response that came at once; None where it has none, as after an error."""
    response = parsed(response)
    if isinstance(response, list):  # of messages, or of LangChain's generations
        is_nested = bool(response) and isinstance(response[0], list)
        response = {"generations": response} if is_nested else next(reversed(response), None)
    if isinstance(response, str):
        return {"role": "assistant", "content": response} if response else None
    if not isinstance(response, dict):
        return None
    if response.get("choices"):
        choice = response["choices"][0]
        return _message({"role": "assistant", **(choice.get("message") or {"content": choice.get("text")})})
    if response.get("candidates"):  # of Gemini
        return response_message(response["candidates"][0])
    if response.get("generations"):
        generation = response["generations"][0]
        generation = generation[0] if isinstance(generation, list) else generation
        message = generation.get("message") or {"role": "assistant", "content": generation.get("text")}
        return _message(message)
    output = response.get("output")
    if isinstance(output, list) and output and isinstance(output[0], dict):
        return _joined(output, [{"role": "assistant", "content": ""}])[0]
    if _is_message(response):
        is_wrapped = isinstance(response.get("message"), dict)
        message = _message(response if is_wrapped else {"role": "assistant", **response})
        return message if message["role"] == "assistant" else None
    if isinstance(response.get("messages"), list):
        return response_message(response["messages"])
    inner = _content_of(response)
    return response_message(inner) if inner is not response else None


def _content_of(response: dict[str, Any]) -> Any:
    """The content of an output of unknown layout; the message of an error is none."""
    names = _ANSWERS if response.get("error") else f"{_ANSWERS} message"
    inner = first_of(response, names.split())
    is_only = len(response) == 1 and "error" not in response
    return next(iter(response.values())) if inner is None and is_only else inner


def token_counts(response: Any) -> dict[str, Any]:
    """The tokens that a response counts."""
    counts = parsed(response.get("usage") or response.get("usageMetadata")) if isinstance(response, dict) else None
    counts = counts if isinstance(counts, dict) else {}
    return {
        ours: next((counts[n] for n in names if counts.get(n) is not None), None) for ours, names in _TOKENS.items()
    }


def _messages_of(value: Any) -> list[dict[str, Any]] | None:
    """The messages in an input of any kind; None if it holds none."""
    if isinstance(value, dict):
        return _messages_in(value)
    if isinstance(value, list) and value and isinstance(value[0], list):  # a batch of LangChain's
        value = value[0]
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        is_parts = all("text" in item and not _is_message(item) for item in value)
        return [{"role": "user", "parts": value}] if is_parts else value
    texts = [value] if isinstance(value, str) else value
    is_text = isinstance(texts, list) and all(isinstance(item, str) for item in texts)
    text = "\n".join(texts) if is_text else ""
    return [{"role": "user", "content": text}] if text.strip() else None


def _messages_in(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    if value.keys() <= {"args", "kwargs"}:  # of a function that is traced by a decorator
        return _messages_of(value.get("args") or value.get("kwargs"))
    if _is_message(value):
        return [value]
    for name in _MESSAGES:
        inner = parsed(value.get(name))
        if isinstance(inner, list | dict) and inner and (messages := _messages_of(inner)):
            question = next((value[n] for n in _ASKED.split() if isinstance(value.get(n), str)), None)
            asks_apart = name == "chat_history" and question
            return [*messages, {"role": "user", "content": question}] if asks_apart else messages
    text = first_of(value, _ASKED.split())
    if text is None and len(value) == 1:
        text = next(iter(value.values()))
    return _messages_of(parsed(text)) if text is not value else None


def _is_message(value: dict[str, Any]) -> bool:
    is_plain = bool(value.keys() & {"role", "lc", "message.role", "parts"}) or isinstance(value.get("message"), dict)
    return is_plain or {"type", "data"} <= value.keys() or {"type", "content"} <= value.keys()


def _joined(items: list[dict[str, Any]], answer: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    """The messages; items of Responses that follow each other are one, as are all of an answer."""
    messages, was_part = answer or [], False
    for item in items:
        if isinstance(item.get("content"), dict) and item["content"].get("type") == "function":
            continue  # a tool that could be called, which Langfuse lists after the messages
        message, is_part = _message(item), str(item.get("type")).endswith(_PARTS)
        is_same = messages and message["role"] == messages[-1]["role"] == "assistant" and (is_part or was_part)
        if is_same or answer:
            messages[-1]["content"] += message.pop("content")
            add_labels(messages[-1], {name: value for name, value in message.items() if name != "role"})
        else:
            messages.append(message)
        was_part = is_part or bool(is_same)
    return messages


def _message(item: dict[str, Any]) -> dict[str, Any]:
    kind = str(item.get("type"))
    if kind.endswith(_PARTS):
        if kind == "reasoning":
            thoughts = item.get("summary") or item.get("content") or ()
            item = {**item, "thinking": "\n".join(str(value_at(part, "text") or "") for part in thoughts)}
        _, labels = text_and_labels([item])
        filled = {name: value for name, value in labels.items() if value}
        return {"role": "tool" if kind.endswith("_output") else "assistant", "content": "", **filled}
    content = item.get("content")
    if isinstance(content, str) and content.startswith('[{"type"'):  # parts, in an attribute that holds texts only
        item = {**item, "content": parsed(content)}
    plain = {"role": "user", **plain_message(item)}
    role = {"model": "assistant", "human": "user", "ai": "assistant"}.get(plain["role"], plain["role"])
    text = plain.get("content")
    if isinstance(text, dict):
        text = text_and_labels([text])[0]
    message = {"role": role, "content": str(text or "")}
    add_labels(message, {name: plain.get(name) for name in KEPT[2:]})
    time, _ = time_and_order(first_of(plain, _TIMES))
    add_labels(message, {"time": time})
    return message


def _text_of(content: Any) -> str:
    content = parsed(content)
    content = content.get("parts", content) if isinstance(content, dict) else content
    return text_and_labels(content)[0] if isinstance(content, list) else str(content or "")


def joined_stream(response: Any) -> Any:
    """Put a stream's response together from a list of its chunks or from their text; any other stays as it is."""
    if isinstance(response, str):
        events = re.findall(r"^data:\s*(\{.*)$", response, re.MULTILINE)
        response = [json.loads(event) for event in events] or response
    if not isinstance(response, list):
        return response
    counts: dict[str, Any] = {}
    for chunk in response:
        if chunk.get("type") in ("response.completed", "response.incomplete"):  # with the whole response
            return chunk["response"]
        usage = (chunk["message"] if chunk.get("type") == "message_start" else chunk).get("usage") or {}
        counts |= {name: count for name, count in usage.items() if count is not None}  # each counts from the start
    if any("choices" in chunk for chunk in response):
        return {**_completion(response), "usage": counts}
    text = [chunk["delta"] for chunk in response if chunk.get("type") == "response.output_text.delta"]
    content = "".join(text) or _blocks(response)
    return {"role": "assistant" if content else None, "content": content, "usage": counts}


def _completion(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """A response of Chat Completions."""
    message: dict[str, Any] = {}
    calls: dict[Any, dict[str, Any]] = {}
    for choice in (choice for chunk in chunks for choice in chunk.get("choices") or ()):
        if choice.get("index"):
            continue  # another answer to the same request
        delta = choice.get("delta") or {}
        for name in ("content", "refusal", "reasoning_content"):
            if delta.get(name):
                message[name] = message.get(name, "") + delta[name]
        for piece in delta.get("tool_calls") or ():
            call = calls.setdefault(piece.get("index", piece.get("id")), {"function": {"arguments": ""}})
            function = piece.get("function") or {}
            call |= {name: piece[name] for name in ("id", "type") if piece.get(name)}
            call["function"] |= {"name": function["name"]} if function.get("name") else {}
            call["function"]["arguments"] += function.get("arguments") or ""
    if calls:
        message["tool_calls"] = list(calls.values())
    return {"choices": [{"message": message}]} if message else {}


def _blocks(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The content of a response of Anthropic's Messages."""
    blocks: dict[Any, dict[str, Any]] = {}
    for chunk in chunks:
        index = chunk.get("index", 0)
        if chunk.get("type") == "content_block_start":
            blocks[index] = dict(chunk["content_block"])
        elif chunk.get("type") == "content_block_delta" and chunk["delta"]["type"] in _BLOCKS:
            kind, name = _BLOCKS[chunk["delta"]["type"]]
            block = blocks.setdefault(index, {"type": kind})
            block[name] = block.get(name, "") + chunk["delta"][name]
    for block in blocks.values():
        text = block.pop("partial_json", "")
        if text:
            block["input"] = text  # as it stays where the stream was cut off
            with suppress(ValueError, RecursionError):
                block["input"] = json.loads(text)
    return list(blocks.values())
