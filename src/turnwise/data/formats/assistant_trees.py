"""Exports of Open WebUI and LibreChat: trees of messages, of which the branch shown last is read.

Sources: https://github.com/open-webui/open-webui (``chat.history`` of an exported chat),
https://github.com/danny-avila/LibreChat (``useExportConversation``: messages in a list or within each other).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnwise.data.reading.branches import branch
from turnwise.data.reading.format import Format, Head
from turnwise.data.reading.parts import plain_message
from turnwise.data.reading.sessions import thumb
from turnwise.data.reading.source import Source, parse_record
from turnwise.data.reading.times import iso_time

_KEPT = ("role", "content", "name", "model", "tool_calls", "tool_results", "thinking", "attachments", "documents")


def _open_webui(raw: Any, source: Source) -> dict[str, Any] | None:
    """The branch shown last; None where nothing was said."""
    record = parse_record(raw)
    chat = record["chat"]
    history = chat.get("history") or {}
    messages = history.get("messages") or {message["id"]: message for message in chat.get("messages") or ()}
    parents = {name: message.get("parentId") for name, message in messages.items()}
    shown = history.get("currentId", history.get("current_id"))
    shown = shown if shown in messages else next(reversed(messages), None)
    said = [messages[name] for name in (branch(shown, parents) if shown is not None else ())]
    row = {"id": record.get("id"), "title": record.get("title") or chat.get("title")}
    row |= {"time": iso_time(record.get("created_at")), "model": next(iter(chat.get("models") or ()), None)}
    return _row(row, said, lambda message: (message.get("annotation") or {}).get("rating"))


def _librechat(raw: Any, source: Source) -> dict[str, Any] | None:
    """The branch of the last message; None where nothing was said."""
    record = parse_record(raw)
    messages = {message["messageId"]: message for message in _within(record["messages"])}
    parents = {name: message.get("parentMessageId") for name, message in messages.items()}
    last = max(messages, key=lambda name: str(messages[name].get("createdAt") or ""), default=None)
    said = [messages[name] for name in (branch(last, parents) if last is not None else ())]
    for message in said:
        message["role"] = "user" if message.get("isCreatedByUser") else "assistant"
        message["content"] = message.get("content") or message.get("text") or ""
    options = record.get("options") or {}
    row = {"id": record.get("conversationId"), "title": record.get("title"), "model": options.get("model")}
    row["time"] = said[0].get("createdAt") if said else None
    return _row(row, said, lambda message: (message.get("feedback") or {}).get("rating"))


def _within(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for message in messages:
        yield message
        yield from _within(message.get("children") or [])


def _row(row: dict[str, Any], said: list[dict[str, Any]], rating: Any) -> dict[str, Any] | None:
    messages = []
    for message in said:
        plain = plain_message({name: message[name] for name in _KEPT if message.get(name) is not None})
        time = iso_time(message.get("timestamp") or message.get("createdAt"))
        feedback = thumb(rating(message))
        messages.append({"content": "", **plain, "time": time, "feedback": feedback})
        row["feedback"] = feedback or row.get("feedback")
    return {**row, "messages": messages} if messages else None


def _is_open_webui(head: Head) -> bool:
    return {"chat", "user_id"} <= head.keys and bool({"history", "messages"} & head.inner.get("chat", frozenset()))


def _is_librechat(head: Head) -> bool:
    return "conversationId" in head.keys and {"messageId", "isCreatedByUser"} <= head.inner.get("messages", frozenset())


OPEN_WEBUI = Format(
    name="open_webui",
    description="chats exported from Open WebUI",
    layout='{"id", "title", "chat": {"history": {"currentId", "messages": {…}}}} in each row',
    records=Source.records,
    convert=_open_webui,
    matches=_is_open_webui,
)
LIBRECHAT = Format(
    name="librechat",
    description="a conversation exported from LibreChat as JSON",
    layout='{"conversationId", "messages": [{"messageId", "parentMessageId", "isCreatedByUser", "text"}, …]}',
    records=Source.records,
    convert=_librechat,
    matches=_is_librechat,
)
