"""The content of a message given as a list of parts: what is text, and labels for all that is not.

The parts are those of OpenAI's chat completions and responses, Anthropic's messages and Hugging Face's chat templates:
``{"type": "text", "text": …}`` and many more types, of which new ones appear with every year. A type that is not known
becomes an attachment.
"""

from __future__ import annotations

from typing import Any

from turnwise.data.reading.source import BadRow

# Where a part, or an object in it, says what it stands for; never the data itself.
_REFERENCES = ("file_name", "filename", "name", "title", "url", "image_url", "file_id", "path", "asset_pointer", "id")


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
    if kind == "refusal":
        labels["refusal"] = _joined(labels.get("refusal"), part.get("refusal"))
    elif kind in ("thinking", "reasoning"):
        labels["thinking"] = _joined(labels.get("thinking"), part.get("thinking") or part.get("text"))
    elif kind.endswith(("tool_use", "tool_call", "function_call")):
        call = {name: value for name, value in part.items() if name in ("id", "name", "input", "arguments")}
        labels.setdefault("tool_calls", []).append(call)
    elif kind.endswith(("tool_result", "function_call_output")):
        labels.setdefault("tool_results", []).append(_tool_result(part))
    else:
        labels.setdefault("attachments", []).append(attachment(part, kind))


def _joined(earlier: str | None, more: Any) -> str:
    return "\n".join(filter(None, (earlier, str(more or ""))))


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
