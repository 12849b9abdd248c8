"""Chat rows: the ``messages`` of Hugging Face, OpenAI and Anthropic, and the ShareGPT ``conversations`` layout.

JSONL, JSON or Parquet, each row an object with ``messages``, or the bare list of them. A JSON file may also be one
object with all rows under ``conversations``, or the messages of a single conversation: ``[{"role", "content"}, …]``.
LMSYS-Chat-1M and WildChat have them under ``conversation``. The id of a row
without ``id`` is its ``conversation_id``, ``thread_id``, …; messages that have one each are a table.

``content`` may be a list of parts (see `turnlens.formats.message_layouts`): texts are joined; images, audio, files,
tool calls and their results, refusals and thoughts become labels. It may be missing from messages that say something by
such a label only, whose text is then empty. When it was said (``timestamp``, ``sent at``, …) becomes the
label ``time``, if it can be read as a time.

Sources: https://platform.openai.com/docs/api-reference/fine-tuning/chat-input and …/docs/api-reference/chat,
https://docs.anthropic.com/en/api/messages, https://huggingface.co/docs/transformers/chat_templating.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any

from turnlens.formats.bad_input import BadRow, parse_record, parse_value
from turnlens.formats.call_sessions import message_key
from turnlens.formats.columns import conversation_field, joined_time, time_fields
from turnlens.formats.conversation_snapshots import last_snapshots
from turnlens.formats.file_head import object_head
from turnlens.formats.format import Format, Head
from turnlens.formats.message_layouts import SAID_OTHERWISE, parsed, plain_message, with_system
from turnlens.formats.message_times import DateOrder, moment
from turnlens.formats.model_bodies import answer
from turnlens.formats.source_file import Source

_ANSWERS = ("response", "completion")
# Messages of any layout that `plain_message` knows have one of these, and so has a conversation in a collection.
_OF_A_MESSAGE = {"role", "content", "value", "parts", "data", "kwargs", "message", "message.role", "messages"}
_OF_A_MESSAGE |= {"conversation", "conversations"}
_MESSAGE_KEYS = {"role", "content", "name", "tool_call_id", "timestamp", "time", "annotations", *SAID_OTHERWISE}


def records(source: Source) -> Iterator[tuple[int, Any]]:
    """Rows, of snapshots of one conversation the last one."""
    return last_snapshots(_rows(source), partial(convert, source=source), _ANSWERS)


def _rows(source: Source) -> Iterator[tuple[int, Any]]:
    """Rows; those under ``conversations``; or all messages of a file that holds nothing but messages."""
    if source.ending == ".json" and _is_collection(object_head(source)[0]):
        yield from source.array_records("conversations")
        return
    rows = source.records()
    first = next(rows, None)
    if first is None:
        return
    if _is_lone_message(first[1]):
        yield first[0], [raw for _, raw in chain([first], rows)]
        return
    yield from chain([first], rows)


def convert(raw: Any, source: Source) -> dict[str, Any]:
    """Renames ShareGPT's keys and roles, and makes contents given in parts texts and labels."""
    raw = parse_value(raw)
    row = {"messages": list(map(parse_value, raw))} if isinstance(raw, list) else parse_record(raw)
    name = next((name for name in ("conversations", "conversation") if name in row), None)
    if "messages" not in row and name is not None:
        row["messages"] = row.pop(name)
    row |= {"messages": parsed(row["messages"])} if isinstance(row.get("messages"), str) else {}  # in a cell of CSV
    if isinstance(row.get("messages"), list):
        row["messages"] = plain_messages(row["messages"])
        if all(map(_is_whole, row["messages"])):  # else the check that follows says what is wrong
            row = dict(with_system(_with_answer(row)))
    if row.get("id") in (None, "") and (name := conversation_field(row)) is not None:
        row["id"] = row.pop(name)
    return row


def _with_answer(row: dict[str, Any]) -> dict[str, Any]:
    """The row with the answer among its messages, where that is beside a history that does not end with one."""
    name = next((name for name in _ANSWERS if row.get(name)), None)
    given = row.get(name or "")
    if isinstance(given, str) or (isinstance(given, dict) and "choices" in given):  # a body of Chat Completions
        given = answer(given)
    if not row["messages"] or _is_answer(row["messages"][-1]) or not isinstance(given, dict):
        return row
    (said,) = plain_messages([given])
    if not _is_whole(said) or said["role"] != "assistant" or message_key(said) == message_key(row["messages"][-1]):
        return row
    return {key: value for key, value in row.items() if key != name} | {"messages": [*row["messages"], said]}


def _is_answer(message: dict[str, Any]) -> bool:
    return bool(message["role"] == "assistant" and message["content"])


def _is_whole(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("content"), str) and "role" in message


def plain_messages(messages: list[Any]) -> list[Any]:
    """Messages of ``role`` and ``content`` from any of the layouts; what is no message stays as it is."""
    plain = [plain_message(message) if isinstance(message, dict) else message for message in messages]
    return list(_timed(plain)) if any(isinstance(message, dict) and len(message) > 2 for message in plain) else plain


def _timed(messages: list[Any]) -> Iterator[Any]:
    """Messages whose times, under whatever name, are the label ``time``, or ``start`` where no day is given."""
    fields = [time_fields(tuple(message)) if isinstance(message, dict) else () for message in messages]
    times = [
        joined_time(message[name] for name in names) if names else None for message, names in zip(messages, fields)
    ]
    dates = DateOrder()
    for time in times:
        with suppress(BadRow):
            dates.see(time)
    for message, names, time in zip(messages, fields, times):
        labels: dict[str, Any] = {}
        with suppress(BadRow):
            labels = moment(time, "+".join(names), 0, dates).labels if names else {}
        yield {**{name: value for name, value in message.items() if name not in names}, **labels} if labels else message


def _is_collection(head: Head) -> bool:
    return "conversations" in head.keys and not _is_message(head.inner.get("conversations", frozenset()))


def _is_message(keys: frozenset[str]) -> bool:
    return {"from", "value"} <= keys or {"role", "content"} <= keys


def _is_lone_message(raw: Any) -> bool:
    try:
        value = parse_value(raw)
    except BadRow:
        return False
    return isinstance(value, dict) and _are_only_a_messages(frozenset(value))


def _are_only_a_messages(keys: frozenset[str]) -> bool:
    # with any further key, a row may say by it which conversation it belongs to
    return {"role", "content"} <= keys <= _MESSAGE_KEYS or keys == {"from", "value"}


def matches(head: Head) -> bool:
    """Either key is enough: ``messages``, or ShareGPT's ``conversations``; or rows are messages, or lists of them."""
    is_list = _is_message(head.inner.get("", frozenset()))
    is_list |= _is_message(head.inner.get("conversation", frozenset()))
    named = [name for name in ("messages", "conversations") if name in head.keys]
    has_messages = any(not (keys := head.inner.get(name, frozenset())) or keys & _OF_A_MESSAGE for name in named)
    return has_messages or is_list or _are_only_a_messages(head.keys)


FORMAT = Format(
    name="chat",
    description="chat messages as JSONL, JSON or Parquet (OpenAI, Anthropic, Hugging Face, ShareGPT)",
    layout='{"id": "…", "messages": [{"role": "user", "content": "…"}, …], …labels} in each row',
    records=records,
    convert=convert,
    matches=matches,
)
