"""The content of a store as columns. Its vectors are in memory-mapped files, so that they take up no memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from turnlens._utils.progress import Advance, silent
from turnlens._utils.vectors import BoolArray, FloatArray, Vectors
from turnlens.encoders.history import add_history
from turnlens.report.label_columns import Label, Labels
from turnlens.store.lance_table import Tables
from turnlens.store.records import vectors_of

DURATION = "minutes"  # from the first message of a conversation to the last
_CONVERSATIONS_AT_ONCE = 4096


@dataclass(frozen=True)
class Corpus:
    """The conversations of a store, with all their messages in sequence.

    Attributes:
        ids: The ids of the conversations (m).
        first: The first message of each conversation (m,).
        turns: How many messages each has (m,).
        texts: The messages (n).
        conversation: The conversation of each message (n,).
        turn: The place of each message in its conversation (n,).
        roles: All roles that occur.
        role: The role of each message (n,).
        time: Seconds since 1970, NaN where not known (n,).
        message_labels: The labels of messages.
        conversation_labels: The labels of conversations.
        tokens: How many tokens each message has (n,).
        numbers: What is measured of each conversation, such as a rating, by name; NaN where not known (m,).
        message_numbers: The labels of messages that measure something, by name; NaN where not known (n,).
        vectors: The vectors of the messages, of length 1 (n, dim), memory-mapped.
        conversation_vectors: The vectors of the conversations, of length 1 (m, dim), memory-mapped.
    """

    ids: Sequence[str]
    first: np.ndarray
    turns: np.ndarray
    texts: Sequence[str]
    conversation: np.ndarray
    turn: np.ndarray
    roles: Sequence[str]
    role: np.ndarray
    time: np.ndarray
    message_labels: Mapping[str, Label]
    conversation_labels: Mapping[str, Label]
    tokens: np.ndarray
    numbers: Mapping[str, np.ndarray]
    message_numbers: Mapping[str, np.ndarray]
    vectors: np.ndarray
    conversation_vectors: np.ndarray

    @property
    def speaks(self) -> BoolArray:
        """Which messages say anything (n,)."""
        return np.fromiter((bool(text.strip()) for text in self.texts), bool, len(self.texts))

    @property
    def conversation_time(self) -> np.ndarray:
        """The first time in each conversation, NaN where none is known (m,)."""
        times = np.where(np.isnan(self.time), np.inf, self.time)
        earliest = np.minimum.reduceat(times, self.first) if len(self.first) else times
        return np.where(np.isinf(earliest), np.nan, earliest)


def read_corpus(tables: Tables, folder: Path, advance: Advance = silent) -> Corpus:
    """Read a store.

    Args:
        tables: Its tables.
        folder: Where the vectors are written; it must stay until the corpus is no longer needed.
        advance: Called with numbers of messages that were read.

    Raises:
        ValueError: The store is empty.
    """
    conversations = _read_conversations(tables, folder)
    first = np.cumsum([0, *conversations.turns])[:-1].astype(np.uint32)
    messages = _Messages(tables, folder, dict(zip(conversations.ids, first.tolist())), sum(conversations.turns))
    for batch in tables.messages.batches(
        ["conversation", "turn", "role", "text", "time", "fields", "tokens", "vector"]
    ):
        messages.take(batch)
        advance(len(batch))
    turns = np.asarray(conversations.turns, np.uint32)
    message_numbers = messages.labels.numbers()
    return Corpus(
        ids=conversations.ids,
        first=first,
        turns=turns,
        texts=messages.texts,
        conversation=np.repeat(np.arange(len(turns), dtype=np.uint32), turns),
        turn=(np.arange(turns.sum(), dtype=np.uint32) - np.repeat(first, turns)).astype(np.uint16),
        roles=list(messages.roles),
        role=messages.role,
        time=messages.time,
        message_labels=messages.labels.finished(),
        conversation_labels=conversations.labels.finished(),
        tokens=messages.tokens,
        numbers=_numbers(conversations, messages, message_numbers, first),
        message_numbers=message_numbers,
        vectors=messages.vectors,
        conversation_vectors=conversations.vectors,
    )


def _numbers(
    conversations: _Conversations, messages: _Messages, message_numbers: Mapping[str, np.ndarray], first: np.ndarray
) -> dict[str, np.ndarray]:
    """Numbers of conversations, means of the numbers of their messages, and how many minutes they take."""
    numbers = {name: means_of(values, first) for name, values in message_numbers.items()}
    numbers |= conversations.labels.numbers()
    known = (
        np.where(np.isnan(messages.time), -np.inf, messages.time),
        np.where(np.isnan(messages.time), np.inf, messages.time),
    )
    with np.errstate(invalid="ignore"):
        minutes = (np.maximum.reduceat(known[0], first) - np.minimum.reduceat(known[1], first)) / 60
    minutes = np.where(np.isfinite(minutes), minutes, np.nan)
    return numbers | ({DURATION: minutes} if (minutes > 0).any() else {})


def means_of(values: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The mean of the known values of the messages of each conversation (m,); NaN where none is known.

    Args:
        values: The value of each message, NaN where not known (n,).
        first: The first message of each conversation (m,).
    """
    known = ~np.isnan(values)
    counts = np.add.reduceat(known.astype(float), first)
    return np.where(counts > 0, np.add.reduceat(np.where(known, values, 0.0), first) / np.maximum(counts, 1), np.nan)


def in_history(vectors: Vectors, corpus: Corpus, folder: Path) -> FloatArray:
    """Vectors of messages that include what was said before, see `add_history` (n, dim), memory-mapped.

    Args:
        vectors: The vectors of the messages without it, of length 1 (n, dim).
        corpus: From `read_corpus`.
        folder: As for `read_corpus`.
    """
    added = mapped(folder / "history.f32", *corpus.vectors.shape)
    for start in range(0, len(corpus.ids), _CONVERSATIONS_AT_ONCE):
        turns = corpus.turns[start : start + _CONVERSATIONS_AT_ONCE]
        first = int(corpus.first[start])
        rows = slice(first, first + int(turns.sum()))
        added[rows] = add_history(vectors[rows], turns)
    return added


class _Conversations:
    def __init__(self, count: int, dim: int, folder: Path) -> None:
        self.ids: list[str] = []
        self.turns: list[int] = []
        self.labels = Labels(count)
        self.vectors = mapped(folder / "conversations.f32", count, dim)


def _read_conversations(tables: Tables, folder: Path) -> _Conversations:
    count = tables.conversations.count_rows()
    if not count:
        raise ValueError("the store holds no conversation: add some with turnlens index")
    conversations = _Conversations(count, tables.state.dim, folder)
    for batch in tables.conversations.batches(["conversation", "turns", "fields", "vector"]):
        start = len(conversations.ids)
        conversations.ids += batch["conversation"].to_pylist()
        conversations.turns += batch["turns"].to_pylist()
        conversations.vectors[start : len(conversations.ids)] = _vectors(batch)
        for row, fields in enumerate(batch["fields"].to_pylist(), start=start):
            conversations.labels.set(row, json.loads(fields))
    return conversations


class _Messages:
    """Collects rows that arrive in any order, and puts each in the place that its conversation and turn give."""

    def __init__(self, tables: Tables, folder: Path, first: Mapping[str, int], count: int) -> None:
        self._first = first
        self.texts: list[str] = [""] * count
        self.roles: dict[str, int] = {}
        self.role = np.zeros(count, np.uint16)
        self.time = np.full(count, np.nan)
        self.tokens = np.zeros(count, np.int32)
        self.labels = Labels(count)
        self.vectors = mapped(folder / "messages.f32", count, tables.state.dim)

    def take(self, batch: pa.RecordBatch) -> None:
        names, turns = batch["conversation"].to_pylist(), batch["turn"].to_pylist()
        rows = np.asarray([self._first[name] + turn for name, turn in zip(names, turns)])
        self.vectors[rows] = _vectors(batch)
        self.tokens[rows] = batch["tokens"].to_numpy()
        self.role[rows] = [self.roles.setdefault(role, len(self.roles)) for role in batch["role"].to_pylist()]
        self.time[rows] = _seconds(batch["time"])
        for row, text, fields in zip(rows.tolist(), batch["text"].to_pylist(), batch["fields"].to_pylist()):
            self.texts[row] = text
            self.labels.set(row, json.loads(fields))


def _vectors(batch: pa.RecordBatch) -> np.ndarray:
    return vectors_of(pa.chunked_array([batch["vector"]]))


def _seconds(times: pa.Array) -> np.ndarray:
    """Times as seconds since 1970, NaN for none."""
    micros = times.cast(pa.int64()).to_numpy(zero_copy_only=False).astype(float)
    return np.asarray(micros / 1e6)


def mapped(path: Path, rows: int, dim: int) -> Any:
    """Room for vectors in a file (rows, dim)."""
    return np.memmap(path, np.float32, "w+", shape=(max(rows, 1), dim))[:rows]
