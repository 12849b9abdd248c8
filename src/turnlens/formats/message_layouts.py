"""Messages in any layout of chats, and contents that are a list of parts: their text, and labels for all else.

Files, stores, encoders and the service all read messages by `plain_message`. Its layouts are those of OpenAI, Anthropic
and Hugging Face's chat templates, ShareGPT, Vercel's AI SDK (``parts``), LangChain (``type``, ``data``), OpenTelemetry
(``parts`` with ``content``) and OpenInference (``message.role``). A part is a text, ``{"type": "text", "text": …}``, or
one of many more types, of which new ones appear with every year; a type that is not known becomes an attachment.
"""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from turnlens.formats.bad_input import BadRow
from turnlens.formats.columns import first_of, value_at

# The names under which a part, or an object in it, has a name or an address; never the data itself.
_REFERENCES = ("file_name", "filename", "name", "title", "url", "image_url", "file_id", "path", "asset_pointer", "id")
# Labels that tell what a message holds beside its text or instead of it, not what it is about.
TECHNICAL_LABELS = ("note", "notice", "attachments", "tool_calls", "tool_results", "thinking", "refusal", "reply_to")
# Instead of a text, a message may have one of these.
INSTEAD_OF_TEXT = {"tool_calls", "function_call", "refusal", "audio", "reasoning_content"}
_INSTRUCTING = ("system", "developer")
_THOUGHT_ALOUD = re.compile(r"\s*<think(?:ing)?>(.*?)</think(?:ing)?>\s*", re.S)  # as open models do before an answer
# In an answer, as Open WebUI before 0.10 kept and showed it.
_BLOCK = re.compile(
    r'^[ \t]*<details type="(reasoning|tool_calls|code_interpreter)"([^<>]*)>(.*?)</details>', re.M | re.S
)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
# type of a part -> label
_JOINED = {"refusal": "refusal", "thinking": "thinking", "reasoning": "thinking", "think": "thinking"}
_CALL_OR_RESULT = ("tool-call", "tool-result")
_ROLES = {"human": "user", "gpt": "assistant", "ai": "assistant", "AIMessageChunk": "assistant", "function": "tool"}
_LANGCHAIN = {"human", "ai", "system", "tool", "function", "chat", "AIMessageChunk"}
_PREFIXES = ("message.", "message_content.", "tool_call.")  # of OpenInference


def plain_message(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message of any of the layouts with its text under ``content`` and all else as labels; ``raw`` stays as it is.

    What tools return is the label ``tool_results`` whatever the layout, and their message has no text. What is wrong
    with a message otherwise, such as no text at all, is left for the caller to find.

    Raises:
        BadRow: As for `text_and_labels`.
    """
    content = raw.get("content")
    if len(raw) == 2 and type(content) is str and raw.get("role") != "tool" and "<" not in content:
        return raw  # most are; there may be millions
    try:
        message = _unpacked(dict(raw))
        content = _with_blocks_apart(message)
        if isinstance(content, list):
            if message.get("role") == "tool" and not any(map(_is_part, content)):
                content = [json.dumps(content, ensure_ascii=False)]  # what a tool returned, not parts of a message
            message["content"], labels = text_and_labels(content)
            add_labels(message, labels)
    except RecursionError:
        raise BadRow("a message is nested too deeply; remove the innermost parts") from None
    is_empty = message.get("role") == "assistant" and "content" in message and "text" not in message
    if content is None and (is_empty or INSTEAD_OF_TEXT & message.keys()):
        message["content"] = value_at(message, "audio.transcript") or ""
    if message.get("role") == "tool" and message.get("tool_calls"):
        message["role"] = "assistant"
    if message.get("role") in ("tool", "function") and (message.get("content") or "tool_call_id" in message):
        result = {"call_id": message.pop("tool_call_id", None), "content": message.get("content")}
        message |= {"content": "", "tool_results": [{name: value for name, value in result.items() if value}]}
    if message.get("role") == "user" and not message.get("content") and message.get("tool_results"):
        message["role"] = "tool"  # a turn of Anthropic's that only returns results
    _put_thoughts_apart(message)
    # an empty list says nothing, and would be of another type than the tool calls of other messages
    return {name: value for name, value in message.items() if not (isinstance(value, list) and not value)}


def instructions_apart(
    messages: list[dict[str, Any]], is_request: bool = False
) -> tuple[str | None, list[dict[str, Any]]]:
    """The system prompt at the beginning, and the messages; later instructions are the label ``notice``.

    Where the system converses with a user and nobody else does, its messages stay as they are, but not in requests to
    a model, whose answer is not among them.
    """
    roles = [message["role"] for message in messages]
    first = next((n for n, role in enumerate(roles) if role not in _INSTRUCTING), len(messages))
    only_both = not is_request and all(role == "user" or role in _INSTRUCTING for role in roles)
    if only_both and not {*_INSTRUCTING}.isdisjoint(roles[first:]):
        return None, messages
    system = "\n".join(filter(None, (message["content"] for message in messages[:first])))
    return system or None, [_instruction_apart(message) for message in messages[first:]]


def with_system(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row with its system prompt as its label ``system``; where there is nothing else, it stays a message."""
    system, messages = instructions_apart(row["messages"])
    label = row.get("system")
    prompt = f"{label}\n{system}" if system and label and isinstance(label, str) else system
    return {**row, "messages": messages, **({"system": prompt} if prompt else {})} if messages else row


def _instruction_apart(message: dict[str, Any]) -> dict[str, Any]:
    if message["role"] not in _INSTRUCTING or not message["content"]:
        return message
    return {**message, "content": "", "notice": message["content"]}


def _put_thoughts_apart(message: dict[str, Any]) -> None:
    """Make the thoughts beside an answer, or before it in its text, its label ``thinking``."""
    for name in ("reasoning_content", "reasoning"):
        if isinstance(message.get(name), str):
            add_labels(message, {"thinking": message.pop(name)})
    text = message.get("content")
    if isinstance(text, str) and message.get("role") == "assistant" and (aloud := _THOUGHT_ALOUD.match(text)):
        message["content"] = text[aloud.end() :]
        add_labels(message, {"thinking": aloud[1].strip()})


def _with_blocks_apart(message: dict[str, Any]) -> Any:
    """The content, in parts where an answer has blocks of thoughts and tools in its text."""
    text = message.get("content")
    if not isinstance(text, str) or message.get("role") != "assistant":
        return text
    parts: list[Any] = []
    place, end = 0, "</details>"
    for block in _BLOCK.finditer(text, 0, text.rfind(end) + len(end)):
        kind, attributes, inside = block.groups()
        given = {name: unquoted(html.unescape(value)) for name, value in _ATTRIBUTE.findall(attributes)}
        body = html.unescape(inside.partition("</summary>")[2]).strip()
        call = {"type": "tool_call", "name": kind, "arguments": body, "output": given.get("result") or body, **given}
        before = text[place : block.start()].strip()
        parts += [before] if before else []
        parts.append({"type": kind, "text": inside.strip()} if kind == "reasoning" else call)
        place = block.end()
    return [*parts, text[place:].lstrip("\r\n")] if parts else text


def _unpacked(message: dict[str, Any]) -> dict[str, Any]:
    """The message with ``role`` and ``content``, whatever its layout calls them."""
    if message.get("type") == "constructor" and isinstance(message.get("kwargs"), dict):  # LangChain, serialised
        name = str((message.get("id") or [""])[-1])
        message = {"type": name.split("Message")[0].lower(), **message["kwargs"]}
    if message.get("type") in _LANGCHAIN and isinstance(message.get("data"), dict):
        message = {**message["data"], "type": message["type"]}
    further = message.pop("additional_kwargs", None)
    if isinstance(further, dict) and not message.get("tool_calls"):
        add_labels(message, {"tool_calls": further.get("tool_calls")})
    if isinstance(message.get("message"), dict) and "role" not in message:  # OpenInference
        message = {f"message.{name}": value for name, value in message["message"].items()}
    if message.keys() & {"message.role", "message.content", "message.contents"}:
        message = _without_prefix(message)
        message["content"] = message.pop("contents", None) or message.get("content")
    if {"from", "value"} <= message.keys():
        role, content = message.pop("from"), message.pop("value")
        return {"role": _ROLES.get(role, role) if isinstance(role, str) else role, "content": content, **message}
    if "role" not in message and message.get("type") in _LANGCHAIN and "content" in message:
        kind = message.pop("type")
        message = {"role": _ROLES.get(kind, kind), **message}
        for name in ("response_metadata", "usage_metadata", "invalid_tool_calls", "example"):
            message.pop(name, None)
    if isinstance(message.get("parts"), list) and not message.get("content"):
        message["content"] = message.pop("parts")
    is_geminis = message.get("role") == "model" and isinstance(message.get("content"), list)
    return {**message, "role": "assistant"} if is_geminis else message


def _without_prefix(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_prefix(item) for item in value]
    if not isinstance(value, dict):
        return value
    plain: dict[str, Any] = {}
    for name, inner in value.items():
        inner = _without_prefix(inner)
        prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), "")
        plain |= inner if name == "message_content" or name == "tool_call" else {name[len(prefix) :]: inner}
    return plain


def text_and_labels(parts: list[Any]) -> tuple[str, dict[str, Any]]:
    """The text of a message and its labels.

    Args:
        parts: Texts, or objects with a ``type``.

    Returns:
        The text, with a line break where a part that is no text stood between, and those of ``attachments`` (type and
        name or address of images, audio, files, …), ``tool_calls``, ``tool_results``, ``documents`` (sources that were
        looked up), ``refusal`` and ``thinking`` that there are.

    Raises:
        BadRow: A part is neither a text nor an object with a type.
    """
    text: list[str] = []
    labels: dict[str, Any] = {}
    is_apart = False
    for part in map(_typed, parts):
        own = _text_of(part)
        if own is None:
            _add_label(part, labels)
            is_apart = True
            continue
        if is_apart and text and own:
            text.append("\n")
        text.append(own)
        is_apart = False
    for name in labels.keys() & set(_JOINED.values()):
        labels[name] = "\n".join(filter(None, labels[name]))
    return "".join(text), labels


def add_labels(message: dict[str, Any], labels: dict[str, Any]) -> None:
    """Add labels that are not empty to those of a message; lists are extended."""
    for name, value in labels.items():
        earlier = message.get(name)
        if value:
            message[name] = [*earlier, *value] if isinstance(earlier, list) and isinstance(value, list) else value


def _is_part(item: Any) -> bool:
    return isinstance(item, str) or (isinstance(item, dict) and bool(item.keys() & {"type", "text"}))


def _typed(part: Any) -> Any:
    """A part whose type is its only name, as Gemini and Bedrock write them: ``{"functionCall": {"name", "args"}}``."""
    if not isinstance(part, dict) or part.keys() & {"type", "text", "content"}:
        return part
    kind, inner = next(((name, value) for name, value in part.items() if isinstance(value, dict)), ("", None))
    return {**inner, "type": re.sub("(?=[A-Z])", "_", kind).lower()} if inner is not None else part


def _text_of(part: Any) -> str | None:
    """The text of a part, where null is an empty one; None for a part that is no text."""
    if part is None or isinstance(part, str):
        return part or ""
    if not isinstance(part, dict):
        raise BadRow("a message's 'content' has a part that is neither a text nor {\"type\": …}; remove it")
    kind, text = part.get("type", "text"), part.get("text", part.get("content"))
    if kind not in ("text", "input_text", "output_text"):
        return None
    text = text.get("value", text) if isinstance(text, dict) else text
    if text is None and part.keys() & {"text", "content"}:
        return ""
    if not isinstance(text, str):
        raise BadRow(f"a part of a message has the type {kind!r} and no text under 'text'; remove it")
    return text


def _add_label(part: dict[str, Any], labels: dict[str, Any]) -> None:
    kind = str(part["type"])
    inner = part.get("toolInvocation") if kind == "tool-invocation" else part.get("tool_call")
    part = {**part, **inner} if isinstance(inner, dict) else part
    if kind in _JOINED:
        joined = first_of(part, (_JOINED[kind], kind, "text", "content"), "")
        labels.setdefault(_JOINED[kind], []).append(str(joined))
    elif "toolCallId" in part and kind not in _CALL_OR_RESULT:  # Vercel: a call, and its result if there is one
        call = {"id": part["toolCallId"], "name": part.get("toolName", kind.removeprefix("tool-"))}
        labels.setdefault("tool_calls", []).append({**call, "input": part.get("input", part.get("args"))})
        content = next((part[name] for name in ("output", "result", "errorText") if part.get(name) is not None), None)
        if content is not None:
            labels.setdefault("tool_results", []).append({"call_id": part["toolCallId"], "content": content})
    elif kind == "function":
        labels.setdefault("tool_calls", []).append(part)
    elif kind.endswith(("tool_use", "tool-call", "_call")):
        names = {"toolCallId": "id", "toolUseId": "id", "call_id": "id", "toolName": "name", "args": "arguments"}
        known = ("id", "name", "input", "arguments")
        call = {name: value for name, value in part.items() if name in known}
        call |= {names[name]: value for name, value in part.items() if name in names}
        labels.setdefault("tool_calls", []).append(call)
        if kind == "tool_call" and part.get("output") is not None:  # LibreChat keeps both in one part
            labels.setdefault("tool_results", []).append({"call_id": part.get("id"), "content": part["output"]})
    elif kind.endswith(("tool_result", "call_output", "tool_call_response", "function_response", "tool-result")):
        labels.setdefault("tool_results", []).append(_tool_result(part))
    elif kind.startswith("source-") or kind == "source":
        labels.setdefault("documents", []).append(attachment(part, kind))
    elif kind not in ("step-start", "token_budget", "flag", "redacted_thinking"):
        labels.setdefault("attachments", []).append(attachment(part, kind))


def _tool_result(part: dict[str, Any]) -> dict[str, Any]:
    content = first_of(part, ("content", "output", "response", "result"))
    result = {name: part[name] for name in ("tool_use_id", "call_id", "is_error") if part.get(name)}
    ids = ("toolCallId", "toolUseId", *(["id"] if part["type"].endswith("_response") else []))
    result |= {"call_id": call} if (call := first_of(part, ids)) else {}
    if isinstance(content, list):
        with suppress(BadRow):
            text, labels = text_and_labels(content)
            return {**result, "content": text, **labels}
    return {**result, "content": content}


def attachment(part: dict[str, Any], kind: str) -> str:
    """An attachment, in words: its type, and its name or address where it has one."""
    for place in (part, *(value for value in part.values() if isinstance(value, dict))):
        for name in (kind, *_REFERENCES):
            reference = place.get(name)
            if isinstance(reference, str) and reference and not reference.startswith("data:"):
                return f"{kind}: {reference}"
    return kind


def unquoted(value: Any) -> Any:
    """Decode a text that is written as JSON."""
    with suppress(ValueError, RecursionError):
        return parsed(json.loads(value)) if isinstance(value, str) and value[:1] == '"' else value
    return value


def parsed(value: Any) -> Any:
    """Parse JSON in the cell of a table or in an attribute; all else stays as it is.

    So are lists and dicts as pandas writes them into CSV, in Python's notation.
    """
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
        if value.lstrip().startswith(("{'", "[{'")):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                return ast.literal_eval(value.strip())
    return value
