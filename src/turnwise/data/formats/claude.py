"""Claude's data export: ``conversations.json``.

A conversation has ``chat_messages`` of a ``sender`` (``human`` or ``assistant``) and parts as in Anthropic's API;
exports from before 2024 have a plain ``text`` instead. Where messages were edited or answers asked for again, the
branch of the last message is read.

Source: the layout has no official description; this one is after exports' published schemas, such as
https://github.com/Sinity/polylogue (``docs/providers/claude-ai.md``).
"""

from __future__ import annotations

from typing import Any

from turnwise.data.reading.branches import branch
from turnwise.data.reading.format import Format, Head
from turnwise.data.reading.parts import add_labels, text_and_labels
from turnwise.data.reading.source import Source, parse_record

_ROLES = {"human": "user", "assistant": "assistant"}
_NOT_SAID = ("token_budget", "flag")


def convert(raw: Any, source: Source) -> dict[str, Any] | None:
    """The branch of the last message; None where nothing was said."""
    conversation = parse_record(raw)
    messages = _shown(conversation["chat_messages"])
    if not messages:
        return None
    return {
        "id": conversation.get("uuid"),
        "title": conversation.get("name") or None,
        "time": conversation.get("created_at"),
        "messages": [_message(message) for message in messages],
    }


def _shown(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    parents = {message["uuid"]: message.get("parent_message_uuid") for message in messages}
    if None in parents.values() or len(set(parents.values())) == len(messages):
        return messages  # no two answer the same message
    by_id = {message["uuid"]: message for message in messages}
    return [by_id[name] for name in branch(messages[-1]["uuid"], parents)]


def _message(message: dict[str, Any]) -> dict[str, Any]:
    sender = message["sender"]
    parts = [part for part in message.get("content") or () if part.get("type") not in _NOT_SAID]
    text, labels = text_and_labels(parts) if parts else (message["text"], {})
    files = [*(message.get("attachments") or ()), *(message.get("files") or ())]
    add_labels(labels, {"attachments": [f"file: {file.get('file_name') or 'unnamed'}" for file in files]})
    return {"role": _ROLES.get(sender, sender), "content": text, "time": message.get("created_at"), **labels}


def matches(head: Head) -> bool:
    """The key of the messages is the export's own."""
    return "chat_messages" in head.keys


FORMAT = Format(
    name="claude",
    description="Claude data export (conversations.json)",
    layout='conversations {"uuid", "name", "chat_messages": [{"sender": "human" or "assistant", "content"}, …]}',
    records=Source.records,
    convert=convert,
    matches=matches,
)
