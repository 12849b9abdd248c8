"""A Slack export: a folder for every channel with a file for every day, beside ``users.json``, ``channels.json``, ….

Given the folder of the export or of a channel, each thread (the messages of one ``thread_ts``, on whatever days) is a
conversation, and so are the messages of a day that belong to no thread. A daily file alone is read by itself.

Members are called by the names they show, also where a message mentions them. What Slack writes itself (somebody
joined, the topic was changed) is a ``notice``, files are ``attachments``. The text is ``text``, unless that says only
that the message has more, and then what else apps show in ``blocks`` and ``attachments``. Previews of links and of
shared messages are the text only where there is no other.

Sources: https://slack.com/help/articles/220556107-How-to-read-Slack-data-exports and
https://docs.slack.dev/messaging/formatting-message-text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from turnlens.errors import ConversationError
from turnlens.formats.bad_input import BadRow, parse_record
from turnlens.formats.folders import files_of, members_files
from turnlens.formats.format import Format, signs
from turnlens.formats.message_times import iso_time
from turnlens.formats.source_file import Source

_REFERENCE = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")
# Apps put these in place of what they show in blocks.
_IN_PLACE_OF_BLOCKS = re.compile(r"\s*(this (message contains|content can.t be displayed)[^\n]*)?\s*", re.I)
_PREVIEWS = ("from_url", "is_msg_unfurl", "is_app_unfurl", "is_share")  # in attachments of links and of shared messages
_words = re.compile(r"[^\W_]+").findall
_NOT_SAID = ("actions", "input", "button", "image")  # types of blocks to press or look at
# Other subtypes are what Slack writes itself.
_SAID = (None, "bot_message", "me_message", "thread_broadcast", "file_share", "file_comment", "reply_broadcast")


class Thread(NamedTuple):
    """Messages of one conversation, and the names of all members by their ids."""

    name: str
    messages: list[dict[str, Any]]
    names: dict[str, str]


def records(source: Source) -> Iterator[tuple[int, Thread | BadRow]]:
    """Threads and days in the order of their first messages, after the messages that are bad."""
    names = {name: shown for file in members_files(source.path) for name, shown in _members(file)}
    threads: dict[str, list[dict[str, Any]]] = {}
    numbers = count(1)
    for file in files_of(source.path):
        day = Source(file, budget=source.budget)
        for raw in _messages(day):
            source.tick()
            if _is_message(raw):
                threads.setdefault(str(raw.get("thread_ts") or day.stem), []).append(raw)
            else:
                problem = f"{file.name}: found a message without a time in 'ts'; expected {FORMAT.layout}"
                yield next(numbers), raw if isinstance(raw, BadRow) else BadRow(problem)
    for name, messages in threads.items():
        yield next(numbers), Thread(name, sorted(messages, key=lambda message: float(message["ts"])), names)


def _is_message(raw: Any) -> bool:
    return isinstance(raw, dict) and bool(re.fullmatch(r"\d+(\.\d+)?", str(raw.get("ts"))))


def _messages(day: Source) -> Iterator[Any]:
    try:
        for _, raw in day.json_values():
            yield raw
    except (ConversationError, UnicodeDecodeError) as error:
        yield BadRow(str(error))


def _members(file: Path) -> Iterator[tuple[str, str]]:
    for member in (value for _, value in Source(file).json_values() if isinstance(value, dict)):
        profile = member.get("profile") or {}
        shown = profile.get("display_name") or member.get("real_name") or profile.get("real_name")
        yield member["id"], shown or member.get("name") or member["id"]


def convert(raw: Thread, source: Source) -> dict[str, Any]:
    """Names and texts as Slack shows them."""
    channel = source.path.name if source.path.is_dir() else source.path.absolute().parent.name
    messages = [_message(parse_record(message), raw.names) for message in raw.messages]
    return {"id": f"{channel}/{raw.name}", "messages": messages, "channel": channel}


def _message(message: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    own = message.get("text") or ""
    has_text = not _IN_PLACE_OF_BLOCKS.fullmatch(own)
    # what somebody writes is also in a block of rich text
    blocks = (block for block in message.get("blocks") or () if not (has_text and block.get("type") == "rich_text"))
    shown = list(filter(None, map(_block_text, blocks)))
    shown += _attached_texts(message, with_previews=not (has_text or shown))
    if has_text:
        said = set(_words(f"{own} {_plain_text(own, names)}"))
        shown = [own, *(text for text in shown if not said.issuperset(_words(_plain_text(text, names))))]
    text = _plain_text("\n".join(dict.fromkeys(shown)) or own, names)
    described: dict[str, Any] = {
        "time": iso_time(message["ts"]),
        "attachments": [f"file: {file.get('name') or file.get('id')}" for file in message.get("files") or ()] or None,
        "reactions": [f"{reaction['name']} {reaction['count']}" for reaction in message.get("reactions") or ()] or None,
    }
    if message.get("subtype") not in _SAID:
        described["notice"], text = text, ""
    return {"role": _speaker(message, names), "content": text, **described}


def _speaker(message: dict[str, Any], names: dict[str, str]) -> str:
    member = message.get("user") or message.get("bot_id") or ""
    profile = {**(message.get("bot_profile") or {}), **(message.get("user_profile") or {})}
    shown = message.get("username") or profile.get("display_name") or profile.get("real_name") or profile.get("name")
    return names.get(member) or shown or member or "slack"


def _attached_texts(message: dict[str, Any], with_previews: bool) -> Iterator[str]:
    """The texts that an app puts into attachments."""
    for item in message.get("attachments") or ():
        if with_previews or not any(map(item.get, _PREVIEWS)):
            fields = (field.get(name) for field in item.get("fields") or () for name in ("title", "value"))
            listed = "\n".join(map(str, filter(None, fields)))
            inner = [item.get("title"), _block_text(item.get("blocks")) or item.get("text"), listed]
            instead = item.get("fallback") if with_previews else None  # of pictures and buttons
            yield from filter(None, [item.get("pretext"), *(inner if any(inner) else [instead])])


def _block_text(block: Any) -> str:
    """The text of blocks, each part of a section in the notation of ``text``."""
    if isinstance(block, str):
        return block
    if isinstance(block, list):
        return "\n".join(filter(None, map(_block_text, block)))
    if not isinstance(block, dict) or block.get("type") in _NOT_SAID:
        return ""
    if block.get("type") == "user":
        return f"<@{block.get('user_id')}>"
    if block.get("type") == "emoji":
        return f":{block.get('name')}:"
    if block.get("type") == "link":
        return str(block.get("text") or block.get("url") or "")
    elements = block.get("elements") or ()
    if block.get("type") in ("rich_text_section", "rich_text_quote", "rich_text_preformatted"):
        return "".join(map(_block_text, elements))
    return _block_text([block.get("text"), block.get("fields"), list(elements), block.get("rows")])


def _plain_text(text: str, names: dict[str, str]) -> str:
    def shown(match: re.Match[str]) -> str:
        sign, name, label = match.groups()
        if sign == "@":
            return f"@{names.get(name) or label or name}"
        return f"{sign.replace('!', '@')}{label or name}"

    return html.unescape(_REFERENCE.sub(shown, text))


FORMAT = Format(
    name="slack",
    is_export=True,
    description="a Slack export: its folder, one of a channel, or a file of a day",
    layout='a folder for every channel with files of messages by day: [{"type", "ts", "user", "text"}, …]',
    records=records,
    convert=convert,
    matches=signs("type ts user|bot_id|username|subtype"),  # a time in Slack's own notation, and somebody's id
)
