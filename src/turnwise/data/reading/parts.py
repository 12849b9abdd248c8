"""Messages in any layout of chats, and contents given as a list of parts: what is text, and labels for all that is not.

Files, stores, encoders and the service all read messages by `plain_message`. The parts are those of OpenAI's chat
completions and responses, Anthropic's messages and Hugging Face's chat templates:
``{"type": "text", "text": …}`` and many more types, of which new ones appear with every year. A type that is not known
becomes an attachment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnwise.data.reading.source import BadRow

# Where a part, or an object in it, says what it stands for; never the data itself.
_REFERENCES = ("file_name", "filename", "name", "title", "url", "image_url", "file_id", "path", "asset_pointer", "id")
# Instead of a text, a message may have one of these.
SAID_OTHERWISE = {"tool_calls", "function_call", "refusal", "audio", "reasoning_content"}
_JOINED = {"refusal": "refusal", "thinking": "thinking", "reasoning": "thinking"}  # type of a part -> label
_SHAREGPT_ROLES = {"human": "user", "gpt": "assistant"}


def plain_message(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message of any of the layouts with its text under ``content`` and all else as labels; ``given`` stays as it is.

    What is wrong with it otherwise, such as no text at all, is left for the caller to find.

    Raises:
        BadRow: As for `text_and_labels`.
    """
    if len(given) == 2 and type(given.get("content")) is str:
        return given  # most are; there may be millions
    message = dict(given)
    if {"from", "value"} <= message.keys():
        role, content = message.pop("from"), message.pop("value")
        role = _SHAREGPT_ROLES.get(role, role) if isinstance(role, str) else role
        message = {"role": role, "content": content, **message}
    content = message.get("content")
    if isinstance(content, list):
        try:
            message["content"], labels = text_and_labels(content)
        except RecursionError:
            raise BadRow("a message's 'content' is nested too deeply; remove the innermost parts") from None
        add_labels(message, labels)
    elif content is None and SAID_OTHERWISE & message.keys():
        message["content"] = ""
    # an empty list says nothing, and would be of another type than the tool calls of other messages
    return {name: value for name, value in message.items() if not (isinstance(value, list) and not value)}


def text_and_labels(parts: list[Any]) -> tuple[str, dict[str, Any]]:
    """The text of a message and its labels.

    Args:
        parts: Texts, or objects with a ``type``.

    Returns:
        The text, with a line break where a part that is no text stood between, and those of ``attachments`` (type and
        name or address of images, audio, files, …), ``tool_calls``, ``tool_results``, ``refusal`` and ``thinking``
        that there are.

    Raises:
        BadRow: A part is neither a text nor an object with a type.
    """
    text: list[str] = []
    labels: dict[str, Any] = {}
    is_apart = False
    for part in parts:
        said = _text_of(part)
        if said is None:
            _add_label(part, labels)
            is_apart = True
            continue
        if is_apart and text and said:
            text.append("\n")
        text.append(said)
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


def _text_of(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        raise BadRow("a message's 'content' has a part that is neither a text nor {\"type\": …}; remove it")
    kind, text = part.get("type", "text"), part.get("text")
    if kind not in ("text", "input_text", "output_text"):
        return None
    if not isinstance(text, str):
        raise BadRow(f"a part of a message has the type {kind!r} and no text under 'text'; remove it")
    return text


def _add_label(part: dict[str, Any], labels: dict[str, Any]) -> None:
    kind = str(part["type"])
    if kind in _JOINED:
        labels.setdefault(_JOINED[kind], []).append(str(part.get(_JOINED[kind]) or part.get("text") or ""))
    elif kind.endswith(("tool_use", "tool_call", "function_call")):
        call = {name: value for name, value in part.items() if name in ("id", "name", "input", "arguments")}
        labels.setdefault("tool_calls", []).append(call)
    elif kind.endswith(("tool_result", "function_call_output")):
        labels.setdefault("tool_results", []).append(_tool_result(part))
    else:
        labels.setdefault("attachments", []).append(attachment(part, kind))


def _tool_result(part: dict[str, Any]) -> dict[str, Any]:
    content = part.get("content", part.get("output"))
    result = {name: part[name] for name in ("tool_use_id", "call_id", "is_error") if part.get(name)}
    if isinstance(content, list):
        text, labels = text_and_labels(content)
        return {**result, "content": text, **labels}
    return {**result, "content": content}


def attachment(part: dict[str, Any], kind: str) -> str:
    """What is attached, in words: its type, and its name or address where it has one."""
    for place in (part, *(value for value in part.values() if isinstance(value, dict))):
        for name in (kind, *_REFERENCES):
            reference = place.get(name)
            if isinstance(reference, str) and reference and not reference.startswith("data:"):
                return f"{kind}: {reference}"
    return kind
