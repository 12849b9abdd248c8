"""Exports of chat apps: channels of Discord (DiscordChatExporter's JSON), chats of Telegram (``result.json``) and Meta.

Discord: a file is a channel or thread, one conversation. The role is the unique name; the name shown is the label
``nickname``. Telegram: a file is one chat, or all of them under ``chats.list`` and ``left_chats.list``; the role is the
name shown. Meta's, of Messenger and Instagram: a file is a chat, or a part of one (``message_1.json``), newest message
first, whose UTF-8 was read as Latin-1. A message without a text of its own has that of what it forwards or embeds. What
the app writes itself (somebody joined, a message was pinned) is a ``notice``; files, embeds, stickers and the like are
``attachments``; ``reply_to`` is the ``message_id`` of the message that another answers.

Sources: https://github.com/Tyrrrz/DiscordChatExporter (``JsonMessageWriter.cs``) and
https://core.telegram.org/import-export (Telegram Desktop, *Export chat history*);
https://www.facebook.com/help/212802592074644 (*Download your information*, JSON) describes no fields of Meta's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from turnlens.formats.bad_input import BadRow, parse_record, value_or_problem
from turnlens.formats.columns import first_of, value_at
from turnlens.formats.format import Format, object_head, page_records, signs
from turnlens.formats.message_times import time_and_order
from turnlens.formats.source_file import Source
from turnlens.formats.text_encoding import without_mojibake

_KEPT = "id type timestamp content author reference attachments embeds stickers forwardedMessage"
_META_FILES = ("photos", "videos", "audio_files", "files", "gifs", "sticker", "share", "media")
_DISCORD_TEXTS = ("Default", "Reply", "0", "19", "20", "23")  # types without a name have Discord's number
_TELEGRAM_FILES = ("media_type", "sticker_emoji", "photo", "file", "poll.question", "location_information")


def _discord_records(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """The one channel of the file, of whose messages only what is needed is kept."""
    channel: dict[str, Any] = {"messages": []}
    for _, (key, value) in source.object_items():
        source.tick()
        if key == "messages":
            kept = {name: value.get(name) for name in _KEPT.split()} if isinstance(value, dict) else value
            channel["messages"].append(kept)
        else:
            channel[key] = value
    yield 1, channel


def _discord(raw: dict[str, Any], source: Source) -> dict[str, Any] | None:
    """The channel with its name and that of the server; None for one without messages."""
    if not raw["messages"]:
        return None
    channel, guild = raw["channel"], raw.get("guild") or {}
    return {
        "id": channel.get("id"),
        "messages": [_discord_message(message) for message in raw["messages"]],
        "channel": channel.get("name"),
        "category": channel.get("category"),
        "server": guild.get("name"),
        "topic": channel.get("topic"),
    }


def _discord_message(message: dict[str, Any]) -> dict[str, Any]:
    forwarded = message.get("forwardedMessage") or {}
    author = message["author"]
    text = message["content"] or forwarded.get("content") or _embedded(message) or _embedded(forwarded)
    labels = {
        "nickname": author.get("nickname"),
        "time": message.get("timestamp"),
        "message_id": message.get("id"),
        "reply_to": (message.get("reference") or {}).get("messageId"),
        "attachments": _discord_files(message) + _discord_files(forwarded) or None,
    }
    if (message.get("type") or "Default") not in _DISCORD_TEXTS:
        labels["notice"], text = text, ""
    return {"role": author["name"], "content": text, **labels}


def _embedded(message: dict[str, Any]) -> str:
    """The text that an app shows in embeds."""
    texts: list[str | None] = []
    for embed in message.get("embeds") or ():
        fields = [field.get(name) for field in embed.get("fields") or () for name in ("name", "value")]
        inner = [embed.get("description"), *fields]
        texts += inner if any(inner) else [embed.get("title")]
    return "\n".join(filter(None, texts))


def _discord_files(message: dict[str, Any]) -> list[str]:
    files = (f"file: {file.get('fileName')}" for file in message.get("attachments") or ())
    embeds = (f"embed: {item.get('title') or item.get('url') or ''}" for item in message.get("embeds") or ())
    stickers = (f"sticker: {item.get('name')}" for item in message.get("stickers") or ())
    return [*files, *embeds, *stickers]


def _telegram_records(source: Source) -> Iterator[tuple[int, Any]]:
    """Chats: the file itself, or those of an export of all chats."""
    if source.ending != ".json" or "messages" in object_head(source)[0].keys:
        return source.records()
    return page_records(source, "chats.list", "left_chats.list")


def _telegram(raw: Any, source: Source) -> dict[str, Any] | None:
    """The chat in order of time; None for one without messages."""
    chat = parse_record(raw)
    timed = []
    for message in chat["messages"]:
        message = _object(message, "text")
        time, order = time_and_order(message.get("date_unixtime") or message.get("date"))
        row = _telegram_message(message, time)
        timed += [(time, order, row)] if row is not None else []
    if all(time is not None for time, _, _ in timed):
        timed.sort(key=lambda item: item[1])
    labels = {"title": chat.get("name"), "type": chat.get("type")}
    messages = [row for _, _, row in timed]
    return {**labels, "id": str(chat["id"]), "messages": messages} if messages else None


def _telegram_message(message: dict[str, Any], time: str | None) -> dict[str, Any] | None:
    """The message; None for one that holds neither a text nor anything else."""
    todo = message.get("todo_list") or {}
    listed = [todo.get("title"), *(task.get("text") for task in todo.get("answers") or ())]
    text = "\n".join(filter(None, map(_styled_text, (message.get("text"), *listed))))
    is_text = message.get("type") == "message"
    speaker = first_of(message, ("from", "actor", "from_id", "actor_id"), "unknown")
    file = next((value for path in _TELEGRAM_FILES if (value := value_at(message, path))), None)
    notice = None if is_text else message.get("action") or text
    if not (text or file or notice):
        return None
    return {
        "role": str(speaker),
        "content": text.strip() if is_text else "",
        "time": time,
        "message_id": str(message["id"]) if "id" in message else None,
        "reply_to": str(message["reply_to_message_id"]) if message.get("reply_to_message_id") else None,
        "attachments": [str(file)] if file else None,
        "notice": notice,
    }


def _styled_text(text: Any) -> str:
    """A text of Telegram, perhaps in pieces, each with its style."""
    pieces = text if isinstance(text, list) else [text]
    return "".join(str((piece.get("text") if isinstance(piece, dict) else piece) or "") for piece in pieces)


def _without_reactions(message: Any) -> str:
    return json.dumps({**message, "reactions": None} if isinstance(message, dict) else message, sort_keys=True)


def _meta_records(source: Source) -> Iterator[tuple[int, Any]]:
    """The parts of each chat, which are in files beside each other."""
    parsed = ((number, value_or_problem(raw)) for number, raw in source.records())
    for _, parts in groupby(parsed, key=lambda item: first_of(item[1], ("thread_path",), item[0])):
        numbers, chats = zip(*parts)
        yield numbers[0], chats


def _meta(raw: Any, source: Source) -> dict[str, Any] | None:
    """The chat in order of time; None for one without messages."""
    chats = [parse_record(part) for part in raw]
    chat = chats[0]
    said = {_without_reactions(message): message for part in chats for message in part["messages"]}  # exports overlap
    messages = [_meta_message(message) for message in said.values()]
    messages.sort(key=itemgetter(0))
    title = chat.get("title") or chat.get("threadName")
    return {"messages": [row for _, row in messages], "title": without_mojibake(title)} if messages else None


def _meta_message(message: Any) -> tuple[float, dict[str, Any]]:
    message = _object(message, "sender_name")
    time, order = time_and_order(message.get("timestamp_ms") or message.get("timestamp"))
    speaker = message.get("sender_name") or message.get("senderName") or "unknown"
    share = message.get("share")
    text = message.get("content") or message.get("text") or (share or {}).get("share_text") or ""
    files = [item for name in _META_FILES for item in _as_list(message.get(name))]
    named = [f"file: {item.get('uri') or item.get('link')}" for item in files if isinstance(item, dict)]
    labels = {"time": time, "attachments": named or None}
    return order, {"role": without_mojibake(speaker), "content": without_mojibake(text), **labels}


def _object(message: Any, key: str) -> dict[str, Any]:
    if not isinstance(message, dict):
        raise BadRow(f"found {str(message)[:40]!r} as a message; expected an object with {key!r}")
    return message


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


DISCORD = Format(
    name="discord",
    is_export=True,
    description="Discord channels written by DiscordChatExporter (JSON)",
    layout='one object {"guild", "channel", "messages": [{"id", "type", "timestamp", "content", "author"}, …]}',
    records=_discord_records,
    convert=_discord,
    matches=signs("guild channel"),
)
TELEGRAM = Format(
    name="telegram",
    is_export=True,
    description="chats exported by Telegram Desktop (result.json)",
    layout='{"name", "type", "id", "messages": [{"type", "date", "from", "text"}, …]}, or such under "chats"',
    records=_telegram_records,
    convert=_telegram,
    # one chat, or the file of all chats, whose first keys are known
    matches=signs("id type messages/date messages/type", "about personal_information", "chats/about chats/list"),
)
META = Format(
    name="messenger",
    is_export=True,
    description="chats of Messenger and Instagram as Meta exports them (message_1.json)",
    layout='{"participants", "messages": [{"sender_name", "timestamp_ms", "content"}, …]}',
    records=_meta_records,
    convert=_meta,
    matches=signs("messages/sender_name|messages/senderName"),
    spans_files=True,
)
