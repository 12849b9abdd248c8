"""Rows of a store's two tables, made of conversations, and conversations made of rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from turnlens.data.messages import Message, messages_in, plain_messages, whole_messages
from turnlens.errors import ConversationError
from turnlens.formats.message_layouts import with_system
from turnlens.store.filters import ids_at_once, label_entry
from turnlens.store.state import damaged

if TYPE_CHECKING:
    from turnlens.store.lance_table import Tables

TIME_NAMES = ("time", "timestamp", "created_at", "date")
_TIME = pa.timestamp("us", tz="UTC")
_MILLISECONDS_FROM = 1e11  # read as seconds, it would be the year 5138
ORDER = [("conversation", "ascending"), ("turn", "ascending")]


def message_schema(dim: int, has_replies: bool) -> pa.Schema:
    """The schema of the table ``messages``. Vectors have length 1, so that an inner product is a cosine."""
    fields = [
        pa.field("conversation", pa.string(), nullable=False),
        pa.field("turn", pa.int32(), nullable=False),
        pa.field("role", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("time", _TIME),
        pa.field("labels", pa.list_(pa.string()), nullable=False),  # with those of the conversation, for filters
        pa.field("fields", pa.string(), nullable=False),  # the message's own labels, as JSON
        pa.field("tokens", pa.int32(), nullable=False),
        pa.field("vector", pa.list_(pa.float32(), dim), nullable=False),
    ]
    if has_replies:
        fields.append(pa.field("reply", pa.list_(pa.float32(), dim), nullable=False))
    return pa.schema(fields)


def conversation_schema(dim: int) -> pa.Schema:
    """The schema of the table ``conversations``."""
    return pa.schema(
        [
            pa.field("conversation", pa.string(), nullable=False),
            pa.field("digest", pa.string(), nullable=False),
            pa.field("turns", pa.int32(), nullable=False),
            pa.field("speakers", pa.list_(pa.string()), nullable=False),
            pa.field("first_time", _TIME),
            pa.field("last_time", _TIME),
            pa.field("labels", pa.list_(pa.string()), nullable=False),
            pa.field("fields", pa.string(), nullable=False),
            pa.field("text", pa.string(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dim), nullable=False),
        ]
    )


@dataclass(frozen=True)
class Record:
    """A conversation as it is stored.

    Attributes:
        id: Its id.
        messages: Its messages with their labels; labels without a value are left out.
        fields: Its labels.
    """

    id: str
    messages: Sequence[Message]
    fields: Mapping[str, Any]

    @classmethod
    def of(cls, conversation: Mapping[str, Any], where: str) -> Record:
        """Make a record of a conversation in chat form, and check it. Instructions become labels, as those of files do.

        Raises:
            ConversationError: It has no id, or its messages are not a list of ``{"role", "content"}`` in a layout of
                chats that is known.
        """
        given_messages, name = messages_in(conversation, where), conversation.get("id")
        if not isinstance(name, str) or not name:
            raise ConversationError(where, f"expected an id, a text, got {name!r}")
        messages = whole_messages(given_messages, where)
        for turn, message in enumerate(messages):
            if message.get("role") in (None, ""):
                raise ConversationError(f"{where}, message {turn}", "expected a speaker's name under 'role', got none")
        row = with_system({**conversation, "messages": messages})
        fields = {key: value for key, value in row.items() if key not in ("id", "messages")}
        return cls(name, [_present(message) for message in row["messages"]], _present(fields))

    @cached_property
    def digest(self) -> str:
        """A hash that changes when anything in the conversation changes."""
        return self.digest_of(len(self.messages))

    def digest_of(self, turns: int) -> str:
        """The hash of its first messages."""
        content = json.dumps([self.fields, self.messages[:turns]], sort_keys=True, ensure_ascii=False, default=str)
        return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    @cached_property
    def times(self) -> list[datetime | None]:
        """When each message was said. Where none tells, the first has the time of the conversation, if there is one.

        Raises:
            ConversationError: As for `message_time`.
        """
        times = [message_time(message, f"{self.id}, message {turn}") for turn, message in enumerate(self.messages)]
        if times and not any(times):
            with suppress(ConversationError):  # a label of a conversation may hold anything
                times[0] = message_time(self.fields, self.id)
        return times

    @property
    def plain(self) -> list[Message]:
        """Role and text of its messages."""
        return plain_messages(self.messages, self.id)

    @property
    def texts(self) -> list[str]:
        """The texts that are embedded."""
        return [message["content"] for message in self.plain]


def message_rows(record: Record, start: int = 0) -> Iterator[dict[str, Any]]:
    """The rows, without vectors, of a conversation's messages from turn ``start`` on."""
    entries = dict.fromkeys(_entries(record.fields))
    for turn, message in enumerate(record.messages[start:], start=start):
        fields = _further(message)
        yield {
            "conversation": record.id,
            "turn": turn,
            "role": str(message["role"]),
            "text": message["content"],
            "time": record.times[turn],
            "labels": list(entries | dict.fromkeys(_entries(fields))),
            "fields": json.dumps(fields, ensure_ascii=False, default=str),
        }


def conversation_row(record: Record) -> dict[str, Any]:
    """The row of a conversation, without its vector."""
    known = [time for time in record.times if time is not None]
    return {
        "conversation": record.id,
        "digest": record.digest,
        "turns": len(record.messages),
        "speakers": list(dict.fromkeys(str(message["role"]) for message in record.messages)),
        "first_time": known[0] if known else None,
        "last_time": known[-1] if known else None,
        "labels": list(dict.fromkeys(_entries(record.fields))),
        "fields": json.dumps(record.fields, ensure_ascii=False, default=str),
        "text": record.messages[0]["content"],
    }


def chat_form(row: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Rebuild a conversation from its row and the rows of its messages, which must be in order."""
    restored = [message_of(message) for message in messages]
    return {"id": row["conversation"], "messages": restored, **labels_of(row)}


def message_of(row: Mapping[str, Any]) -> Message:
    """Rebuild a message from its row."""
    return {"role": row["role"], "content": row["text"], **labels_of(row)}


def labels_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The labels of a conversation or message from its row.

    Raises:
        StoreError: A damaged file gave a value that no store writes.
    """
    try:
        return dict(json.loads(row["fields"]))
    except (ValueError, TypeError):
        raise damaged(f"the labels of conversation {row.get('conversation')!r} cannot be read") from None


def labels_of_hit(row: Mapping[str, Any]) -> dict[str, Any]:
    """The labels of a message from its row, and those of its conversation as texts, or lists of texts.

    Labels of the message go before those of the conversation, whose instructions, which may be long, are left out.

    Raises:
        StoreError: As for `labels_of`.
    """
    own = labels_of(row)
    entries = set(_entries(own))
    further: dict[str, list[str]] = {}
    for entry in row["labels"]:
        name, _, value = entry.partition("=")
        if entry not in entries and name not in own and name != "system":
            further.setdefault(name, []).append(value)
    return {name: values if len(values) > 1 else values[0] for name, values in further.items()} | own


def table_of(rows: Sequence[Mapping[str, Any]], schema: pa.Schema, **columns: np.ndarray) -> pa.Table:
    """Rows and their vectors (rows, dim) or numbers (rows,) as a table of a schema.

    Raises:
        ValueError: Vectors are not finite.
    """
    arrays = []
    for field in schema:
        values = columns.get(field.name)
        if values is None:
            arrays.append(pa.array([row[field.name] for row in rows], field.type))
        elif values.ndim == 1:
            arrays.append(pa.array(values, field.type))
        else:
            if not np.isfinite(values).all():
                raise ValueError(
                    "the encoder gives vectors that are not finite: it is damaged, or its training diverged"
                )
            flat = pa.array(np.ascontiguousarray(values, np.float32).ravel())
            arrays.append(pa.FixedSizeListArray.from_arrays(flat, values.shape[1]))
    return pa.Table.from_arrays(arrays, schema=schema)


def vectors_of(column: pa.ChunkedArray) -> np.ndarray:
    """A column of vectors, float32 (rows, dim)."""
    flat = column.combine_chunks()
    return np.asarray(flat.flatten()).reshape(len(column), -1) if len(column) else np.zeros((0, 0), np.float32)


def message_time(message: Mapping[str, Any], where: str) -> datetime | None:
    """When a message was said, from its label ``time``, ``timestamp``, ``created_at`` or ``date``.

    A time without a zone is taken as UTC; numbers are seconds or milliseconds since 1970.

    Raises:
        ConversationError: The label ``time`` is not a time. The other labels may hold anything.
    """
    for name in TIME_NAMES:
        value = message.get(name)
        if value is None or value == "":
            continue
        try:
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return datetime.fromtimestamp(value / 1000 if abs(value) >= _MILLISECONDS_FROM else value, UTC)
            time = datetime.fromisoformat(str(value))
            return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        except (ValueError, OverflowError, OSError):
            if name == "time":
                expected = "an ISO 8601 time or seconds since 1970"
                raise ConversationError(where, f"the label 'time' is {value!r}; expected {expected}") from None
    return None


def _present(labels: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in labels.items() if value is not None}


def _further(message: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name not in ("role", "content")}


def _entries(labels: Mapping[str, Any]) -> Iterator[str]:
    for name, value in labels.items():
        for entry in value if isinstance(value, list) else [value]:
            yield label_entry(name, entry)


def all_ids(tables: Tables) -> list[str]:
    """The ids of all conversations."""
    batches = tables.conversations.batches(["conversation"])
    return [name for batch in batches for name in batch["conversation"].to_pylist()]


def stored_rows(tables: Tables, ids: Iterable[str], columns: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Some columns of the conversations with these ids, by the ids; unknown ids are left out."""
    rows: dict[str, dict[str, Any]] = {}
    for where in ids_at_once(ids):
        found = tables.conversations.rows(where, ["conversation", *columns]).to_pylist()
        rows |= {row["conversation"]: row for row in found}
    return rows


def conversations_of(tables: Tables, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The conversations with these ids in chat form; unknown ids are skipped."""
    for where in ids_at_once(ids):
        rows = tables.messages.rows(where, ["conversation", "turn", "role", "text", "fields"])
        messages: dict[str, list[dict[str, Any]]] = {}
        for message in rows.sort_by(ORDER).to_pylist():
            messages.setdefault(message["conversation"], []).append(message)
        for row in tables.conversations.rows(where, ["conversation", "fields"]).to_pylist():
            name = row["conversation"]
            if name not in messages:
                raise damaged(f"the messages of conversation {name!r} are not there")
            yield chat_form(row, messages[name])
