"""Chat rows: the ``messages`` of Hugging Face, OpenAI and Anthropic, and the ShareGPT ``conversations`` layout.

JSONL, JSON or Parquet, each row an object with ``messages``, or the bare list of them. A JSON file may also be one
object with all rows under ``conversations``, or the messages of a single conversation: ``[{"role", "content"}, …]``.
LMSYS-Chat-1M and WildChat have them under ``conversation``. The id of a row without ``id`` is its ``conversation_id``,
``thread_id``, …; messages that have one each are a table. Rows that hold one question and one answer are ``pairs``:
fine-tuning rows of OpenAI and TRL (``prompt`` and ``completion``, ``chosen``), OpenAI's preferences (``input``,
``preferred_output``), Alpaca (``instruction``, ``input``, ``output``), Dolly (``context``, ``response``), and
``question``, ``response_message``.

``content`` may be a list of parts (see `turnlens.formats.message_layouts`): texts are joined; images, audio, files,
tool calls and their results, refusals and thoughts become labels. It may be missing from messages that have such a
label, whose text is then empty. The time of a message (``timestamp``, ``sent at``, …) becomes the label ``time``, if it
can be read as a time.

Sources: https://platform.openai.com/docs/api-reference/fine-tuning/chat-input and …/docs/api-reference/chat,
https://docs.anthropic.com/en/api/messages, https://huggingface.co/docs/transformers/chat_templating,
https://huggingface.co/docs/trl/dataset_formats, https://github.com/tatsu-lab/stanford_alpaca.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from typing import Any

from turnlens.formats.bad_input import BadRow, parse_record, parse_value, value_or_problem
from turnlens.formats.call_sessions import message_key
from turnlens.formats.columns import conversation_field, joined_time, time_fields, value_at
from turnlens.formats.conversation_snapshots import last_snapshots
from turnlens.formats.format import Format, Head, object_head
from turnlens.formats.message_layouts import INSTEAD_OF_TEXT, parsed, plain_message, with_system
from turnlens.formats.message_times import DateOrder, lone_moment
from turnlens.formats.model_bodies import response_message
from turnlens.formats.source_file import Source

_ANSWERS = ("response", "completion", "choices")
_PAIRS = (
    *(("prompt", answer) for answer in ("completion", "response", "chosen")),
    *(("input", "preferred_output"), ("instruction", "output"), ("instruction", "response"), ("question", "answer")),
)
# Messages of any layout that `plain_message` knows have one of these, and so has a conversation in a collection.
_OF_A_MESSAGE = {"role", "content", "value", "parts", "data", "kwargs", "message", "message.role", "messages"}
_OF_A_MESSAGE |= {"conversation", "conversations"}
_MESSAGE_KEYS = {"role", "content", "name", "tool_call_id", "timestamp", "time", "annotations", *INSTEAD_OF_TEXT}


def records(source: Source) -> Iterator[tuple[int, Any]]:
    """Rows, of snapshots of one conversation the last one."""
    return last_snapshots(_rows(source), partial(convert, source=source), _ANSWERS)


def _rows(source: Source) -> Iterator[tuple[int, Any]]:
    """Rows; those under ``conversations``; or all messages of a file that holds nothing but messages."""
    if source.ending == ".json" and _is_collection(object_head(source)[0]):
        return source.array_records("conversations")
    rows = source.records()
    first = [*islice(rows, 1)]
    if any(_is_lone_message(raw) for _, raw in first):
        return iter([(first[0][0], [raw for _, raw in chain(first, rows)])])
    return chain(first, rows)


def convert(raw: Any, source: Source) -> dict[str, Any]:
    """Rename ShareGPT's keys and roles, and turn contents of parts into texts and labels."""
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
    """Append the answer that stands beside a history without one."""
    name = next((name for name in _ANSWERS if row.get(name)), None)
    beside = row.get(name or "")
    if name == "choices" and isinstance(beside, list) and len(beside) == 1 and value_at(beside[0], "message.role"):
        beside = {name: beside}
    if isinstance(beside, str) or (isinstance(beside, dict) and "choices" in beside):  # a body of Chat Completions
        beside = response_message(beside)
    last = row["messages"][-1] if row["messages"] else None
    if last is None or (last["role"] == "assistant" and last["content"]) or not isinstance(beside, dict):
        return row
    (reply,) = plain_messages([beside])
    if not _is_whole(reply) or reply["role"] != "assistant" or message_key(reply) == message_key(last):
        return row
    return {key: value for key, value in row.items() if key != name} | {"messages": [*row["messages"], reply]}


def _is_whole(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("content"), str) and "role" in message


def plain_messages(messages: list[Any]) -> list[Any]:
    """Messages of ``role`` and ``content`` from any of the layouts; anything else stays as it is."""
    plain = [plain_message(message) if isinstance(message, dict) else message for message in messages]
    return list(_timed(plain)) if any(isinstance(message, dict) and len(message) > 2 for message in plain) else plain


def _timed(messages: list[Any]) -> Iterator[Any]:
    """Messages with their times, under any name, as the label ``time``, or ``start`` where there is no day."""
    fields = [time_fields(tuple(message)) if isinstance(message, dict) else () for message in messages]
    times = [
        joined_time(message[name] for name in names) if names else None for message, names in zip(messages, fields)
    ]
    dates = DateOrder()
    for time in times:
        with suppress(BadRow):
            dates.see(time)
    for message, names, time in zip(messages, fields, times):
        found = lone_moment(time, "+".join(names), dates) if names else None
        labels = found.labels if found is not None else {}
        yield {**{name: value for name, value in message.items() if name not in names}, **labels} if labels else message


def _is_collection(head: Head) -> bool:
    return "conversations" in head.keys and not _is_message(head.inner.get("conversations", frozenset()))


def _is_message(keys: frozenset[str]) -> bool:
    return {"from", "value"} <= keys or {"role", "content"} <= keys


def _is_lone_message(raw: Any) -> bool:
    value = value_or_problem(raw)
    return isinstance(value, dict) and _are_only_a_messages(frozenset(value))


def _are_only_a_messages(keys: frozenset[str]) -> bool:
    # with any further key, a row may say by it which conversation it belongs to
    return {"role", "content"} <= keys <= _MESSAGE_KEYS or keys == {"from", "value"}


def matches(head: Head) -> bool:
    """Match ``messages``, ShareGPT's ``conversations``, and rows that are messages or lists of them."""
    is_list = _is_message(head.inner.get("", frozenset()))
    is_list |= _is_message(head.inner.get("conversation", frozenset()))
    named = [name for name in ("messages", "conversations") if name in head.keys]
    has_messages = any(not (keys := head.inner.get(name, frozenset())) or keys & _OF_A_MESSAGE for name in named)
    return has_messages or is_list or _are_only_a_messages(head.keys)


def _pair_conversation(raw: Any, source: Source) -> dict[str, Any]:
    """Two messages, or as many as the lists have; an instruction's input follows it after a blank line."""
    row = parse_record(raw)
    pair = _pair(row)
    if pair is None:
        raise KeyError(" and ".join(_PAIRS[0]))
    asked, answered = (_pair_messages(row.pop(key), role, key) for key, role in zip(pair, ("user", "assistant")))
    if pair[0] == "instruction":
        further = [row.pop(name) for name in ("input", "context") if isinstance(row.get(name), str)]
        asked[-1]["content"] = "\n\n".join(filter(None, [asked[-1]["content"], *further]))
    return {**row, "messages": [*asked, *answered]}


def _pair(keys: Collection[str]) -> tuple[str, str] | None:
    return next((pair for pair in _PAIRS if pair[0] in keys and pair[1] in keys), None)


def _pair_messages(value: Any, role: str, key: str) -> list[Any]:
    if isinstance(value, str):
        return [{"role": role, "content": value}]
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list) or not messages:
        raise BadRow(f"found no text under {key!r}; expected one, or a list of messages")
    return plain_messages(messages)


CHAT = Format(
    name="chat",
    description="chat messages as JSONL, JSON or Parquet (OpenAI, Anthropic, Hugging Face, ShareGPT)",
    layout='{"id": "…", "messages": [{"role": "user", "content": "…"}, …], …labels} in each row',
    records=records,
    convert=convert,
    matches=matches,
)
PAIRS = Format(
    name="pairs",
    description="prompts and completions, instructions and outputs, questions and answers",
    layout="two columns: " + ", or ".join(" and ".join(pair) for pair in _PAIRS),
    convert=_pair_conversation,
    matches=lambda head: _pair(head.keys) is not None,
)
