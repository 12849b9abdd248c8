"""Discord channels as DiscordChatExporter writes them: JSON, a file for every channel or thread.

A file is one conversation. Speakers are called by their unique names; the name shown is the label ``nickname``. What
Discord writes itself (somebody joined, a message was pinned) is a ``notice``; files, embeds and stickers are
``attachments``; ``reply_to`` is the ``message_id`` of the message that another answers.

Source: https://github.com/Tyrrrz/DiscordChatExporter (``JsonMessageWriter.cs``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import Source

_KEPT = ("id", "type", "timestamp", "content", "author", "reference", "attachments", "embeds", "stickers")
_SAID = ("Default", "Reply", "0", "19")  # numbers in exports of old versions


def records(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """The one channel of the file, of whose messages only what is needed is kept."""
    channel: dict[str, Any] = {"messages": []}
    for _, (key, value) in source.object_items():
        source.tick()
        if key == "messages":
            kept = {name: value.get(name) for name in _KEPT} if isinstance(value, dict) else value
            channel["messages"].append(kept)
        else:
            channel[key] = value
    yield 1, channel


def convert(raw: dict[str, Any], source: Source) -> dict[str, Any] | None:
    """The channel with its name and that of the server; None for one without messages."""
    if not raw["messages"]:
        return None
    channel, guild = raw["channel"], raw.get("guild") or {}
    return {
        "id": channel.get("id"),
        "messages": [_message(message) for message in raw["messages"]],
        "channel": channel.get("name"),
        "category": channel.get("category"),
        "server": guild.get("name"),
        "topic": channel.get("topic"),
    }


def _message(message: dict[str, Any]) -> dict[str, Any]:
    author, text = message["author"], message["content"]
    described = {
        "nickname": author.get("nickname"),
        "time": message.get("timestamp"),
        "message_id": message.get("id"),
        "reply_to": (message.get("reference") or {}).get("messageId"),
        "attachments": _attachments(message) or None,
    }
    if (message.get("type") or "Default") not in _SAID:
        described["notice"], text = text, ""
    return {"role": author["name"], "content": text, **described}


def _attachments(message: dict[str, Any]) -> list[str]:
    files = (f"file: {file.get('fileName')}" for file in message.get("attachments") or ())
    embeds = (f"embed: {item.get('title') or item.get('url') or ''}" for item in message.get("embeds") or ())
    stickers = (f"sticker: {item.get('name')}" for item in message.get("stickers") or ())
    return [*files, *embeds, *stickers]


def matches(head: Head) -> bool:
    """The server and the channel precede the messages."""
    return {"guild", "channel"} <= head.keys


FORMAT = Format(
    name="discord",
    description="Discord channels written by DiscordChatExporter (JSON)",
    layout='one object {"guild", "channel", "messages": [{"id", "type", "timestamp", "content", "author"}, …]}',
    records=records,
    convert=convert,
    matches=matches,
)
