"""ChatGPT's data export: ``conversations.json``.

A conversation is a tree of messages by id (``mapping``), since messages can be edited and answers asked for again. The
branch shown last, which ends in ``current_node``, is read; the others are left out, and so is what the app hides
(``is_visually_hidden_from_conversation``, such as its system prompt and the custom instructions).

Files and images are ``attachments``, what the assistant sends to tools ``tool_calls``, reasoning ``thinking``.

Source: the layout has no official description; it is described in
https://github.com/mitkury/chatgpt-export-parser/blob/main/docs/chatgpt-data-export-format.md.
"""

from __future__ import annotations

from typing import Any

from turnwise.data.reading.branches import branch
from turnwise.data.reading.format import Format, Head
from turnwise.data.reading.parts import add_labels, text_and_labels
from turnwise.data.reading.source import BadRow, Source, parse_record
from turnwise.data.reading.times import iso_time


def convert(raw: Any, source: Source) -> dict[str, Any] | None:
    """The branch shown last; None where nothing was said."""
    conversation = parse_record(raw)
    nodes = conversation["mapping"]
    if not isinstance(nodes, dict):
        raise BadRow(f"found no object under 'mapping'; expected {FORMAT.layout}")
    messages = [_message(nodes[node]["message"]) for node in _shown(conversation) if nodes[node].get("message")]
    said = [message for message in messages if message is not None]
    if not said:
        return None
    return {
        "id": conversation.get("conversation_id") or conversation.get("id"),
        "title": conversation.get("title"),
        "time": iso_time(conversation.get("create_time")),
        "messages": said,
    }


def _shown(conversation: dict[str, Any]) -> list[str]:
    nodes = conversation["mapping"]
    last = conversation.get("current_node")
    if last not in nodes:  # as in some exports of single conversations: then the latest message that has no answer
        last = next((name for name in reversed(nodes) if not nodes[name].get("children")), None)
    return branch(last, {name: node.get("parent") for name, node in nodes.items()}) if last is not None else []


def _message(message: dict[str, Any]) -> dict[str, Any] | None:
    """A message; None if it is hidden or empty."""
    metadata = message.get("metadata") or {}
    if metadata.get("is_visually_hidden_from_conversation"):
        return None
    text, labels = _content(message.get("content") or {})
    add_labels(labels, {"attachments": [f"file: {file.get('name')}" for file in metadata.get("attachments") or ()]})
    recipient = message.get("recipient") or "all"
    if recipient != "all":
        labels["tool_calls"] = [{"name": recipient, "arguments": text}]
        text = ""
    if not text.strip() and not labels:
        return None
    author = message["author"]
    described = {
        "name": author.get("name"),
        "time": iso_time(message.get("create_time")),
        "model": metadata.get("model_slug"),
    }
    return {"role": author["role"], "content": text, **described, **labels}


def _content(content: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    kind = content.get("content_type", "text")
    if isinstance(content.get("parts"), list):
        return text_and_labels([_part(part) for part in content["parts"]])
    if kind == "thoughts":
        thoughts = [f"{thought.get('summary', '')}\n{thought.get('content', '')}" for thought in content["thoughts"]]
        return "", {"thinking": "\n".join(thoughts).strip()}
    if kind == "reasoning_recap":
        return "", {"notice": content.get("content")}
    text = content.get("text") or content.get("result")
    return (text, {}) if isinstance(text, str) else ("", {"attachments": [kind]})


def _part(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    kind = part.get("content_type", "attachment")
    return part["text"] if kind == "audio_transcription" else {**part, "type": kind}


def matches(head: Head) -> bool:
    """``mapping`` and a name beside it that precedes or follows it."""
    return "mapping" in head.keys and bool({"current_node", "create_time"} & head.keys)


FORMAT = Format(
    name="chatgpt",
    description="ChatGPT data export (conversations.json)",
    layout='conversations {"title", "mapping": {"…": {"message", "parent", "children"}, …}, "current_node"}',
    records=Source.records,
    convert=convert,
    matches=matches,
)
