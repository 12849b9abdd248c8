"""Intercom conversations: objects of its API, a conversation a row, or a page of them under ``conversations``.

A conversation begins with its ``source`` and goes on in ``conversation_parts``. Users, leads and contacts are read as
user, admins and teams as assistant, bots as bot; their names are the label ``name``. Internal notes are the label
``note``, and parts without a text, such as an assignment, a ``notice``: neither was said to the customer.

Source: https://developers.intercom.com/docs/references/rest-api/api.intercom.io/conversations/conversation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlens.formats.file_head import object_head
from turnlens.formats.format import Format, Head
from turnlens.formats.html_text import html_text
from turnlens.formats.iso_times import iso_time
from turnlens.formats.source_file import Source, parse_record

_ROLES = {"user": "user", "lead": "user", "contact": "user", "admin": "assistant", "team": "assistant", "bot": "bot"}


def records(source: Source) -> Iterator[tuple[int, Any]]:
    """Conversations, also of a page of a list."""
    is_page = source.ending == ".json" and "conversations" in object_head(source)[0].keys
    return source.array_records("conversations") if is_page else source.records()


def convert(raw: Any, source: Source) -> dict[str, Any]:
    """The source first, which is a message too."""
    conversation = parse_record(raw)
    first = {**conversation["source"], "created_at": conversation.get("created_at")}
    parts = (conversation.get("conversation_parts") or {}).get("conversation_parts") or ()
    tags = (conversation.get("tags") or {}).get("tags") or ()
    title = conversation.get("title") or first.get("subject")
    return {
        "id": conversation["id"],
        "messages": [_message(part) for part in (first, *parts)],
        "title": html_text(title)[0] if title else None,
        "rating": (conversation.get("conversation_rating") or {}).get("rating"),
        "time": iso_time(conversation.get("created_at")),
        "state": conversation.get("state"),
        "tags": [tag["name"] for tag in tags] or None,
    }


def _message(part: dict[str, Any]) -> dict[str, Any]:
    author = part.get("author") or {}
    text, images = html_text(part.get("body") or "")
    files = [f"file: {file.get('name')}" for file in part.get("attachments") or ()]
    message = {
        "role": _ROLES.get(author.get("type", ""), author.get("type") or "bot"),
        "content": text,
        "name": author.get("name"),
        "time": iso_time(part.get("created_at")),
        "attachments": [*(f"image: {image}" for image in images), *files] or None,
    }
    kind = part.get("part_type", "")
    if "note" in kind:
        return {**message, "content": "", "note": text}
    return message if text or message["attachments"] else {**message, "notice": kind or None}


def matches(head: Head) -> bool:
    """A conversation, or a list of some."""
    inside = head.inner.get("conversations", frozenset())
    return {"source", "conversation_parts"} <= head.keys or {"source", "state"} <= inside


FORMAT = Format(
    name="intercom",
    description="Intercom conversations as its API gives them (JSON, JSONL)",
    layout='conversations {"id", "source": {"body", "author"}, "conversation_parts": {"conversation_parts": '
    '[{"part_type", "body", "author", "created_at"}, …]}}',
    records=records,
    convert=convert,
    matches=matches,
)
