"""Responses of language models that came in chunks, put together as they would have come at once."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

_ENDS = ("response.completed", "response.incomplete")  # with the whole response
_BLOCKS = {  # type of a piece in Anthropic's streams -> its block, and where its text is
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("tool_use", "partial_json"),
}


def whole(response: Any) -> Any:
    """The response of a stream, which is a list of its chunks or their text as it came; any other as it is."""
    if isinstance(response, str):
        events = re.findall(r"^data:\s*(\{.*)$", response, re.MULTILINE)
        response = [json.loads(event) for event in events] or response
    if not isinstance(response, list):
        return response
    counts: dict[str, Any] = {}
    for chunk in response:
        if chunk.get("type") in _ENDS:
            return chunk["response"]
        told = (chunk["message"] if chunk.get("type") == "message_start" else chunk).get("usage") or {}
        counts |= {name: count for name, count in told.items() if count is not None}  # each counts from the start
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
            told = piece.get("function") or {}
            call |= {name: piece[name] for name in ("id", "type") if piece.get(name)}
            call["function"] |= {"name": told["name"]} if told.get("name") else {}
            call["function"]["arguments"] += told.get("arguments") or ""
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
