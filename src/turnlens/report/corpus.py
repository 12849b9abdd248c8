"""The content of a store, or of conversations in memory, as columns.

Its vectors are in memory-mapped files, so that they take up no memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from turnlens._utils.progress import note, progress_of
from turnlens._utils.vectors import BoolArray, FloatArray, Vectors
from turnlens.data.conversation_source import ConversationSource
from turnlens.data.conversations import read_conversations
from turnlens.data.personal.person_names import called_names, holds_names, names_finder
from turnlens.data.personal.plain_text import replaced
from turnlens.data.sentences import GAP
from turnlens.encoders.history import add_history
from turnlens.groups.group_model import Kind
from turnlens.groups.phrases import Embed, without_placeholders
from turnlens.report.label_columns import Label, Labels
from turnlens.store import ConversationStore
from turnlens.store.annotations import without_sample_labels
from turnlens.store.batches import batches
from turnlens.store.open_arguments import store_encoder
from turnlens.store.records import (
    Record,
    conversation_row,
    conversation_schema,
    message_rows,
    message_schema,
    table_of,
    vectors_of,
)

if TYPE_CHECKING:
    from turnlens.store.open_arguments import Encoder
    from turnlens.store.store_encoder import StoreEncoder

DURATION = "minutes"  # from the first message with a text to the last: an app may close a conversation days later
_CONVERSATIONS_AT_ONCE = 4096
_OF_CONVERSATIONS = ("conversation", "fields", "vector")
_OF_MESSAGES = ("conversation", "turn", "role", "text", "time", "fields", "tokens", "vector")


@dataclass(frozen=True)
class CorpusEncoder:
    """The encoder of the vectors of a corpus.

    Attributes:
        name: The place that it was loaded from.
        digest: A hash of it, see `StoreEncoder.digest`.
        load: Loads it.
    """

    name: str
    digest: str
    load: Callable[[], StoreEncoder]

    @cached_property
    def embed(self) -> Embed | None:
        """Gives phrases vectors; ``None``, which is told once, if the encoder cannot be loaded."""
        try:
            encoder = self.load().with_cache()
        except (OSError, ValueError, ImportError) as error:
            note(f"groups are named by their words alone: {error}")
            return None
        return lambda phrases: np.asarray(encoder.messages(phrases)["vector"], np.float32)


@dataclass(frozen=True, kw_only=True)
class Texts:
    """The texts and labels of conversations, which their report takes over; see `Corpus`."""

    title: str
    ids: Sequence[str]
    texts: Sequence[str]
    roles: Sequence[str]
    message_labels: Mapping[str, Label]
    conversation_labels: Mapping[str, Label]
    message_numbers: Mapping[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Corpus(Texts):
    """Conversations with all their messages in sequence.

    Attributes:
        title: Their name.
        stamp: Changes with the data.
        folder: A temporary folder for files of vectors.
        encoder: The encoder of their vectors.
        ids: The ids of the conversations (m).
        first: The first message of each conversation (m,).
        turns: The number of messages of each (m,).
        texts: The messages (n).
        conversation: The conversation of each message (n,).
        turn: The place of each message in its conversation (n,).
        roles: All roles that occur.
        role: The role of each message (n,).
        time: Seconds since 1970, NaN where not known (n,).
        message_labels: The labels of messages.
        conversation_labels: The labels of conversations.
        tokens: The number of tokens of each message (n,).
        numbers: Measures of each conversation, such as a rating, by name; NaN where not known (m,).
        message_numbers: Measures of each message, by name; NaN where not known (n,).
        vectors: The vectors of the messages, of length 1 (n, dim), memory-mapped.
        conversation_vectors: The vectors of the conversations, of length 1 (m, dim), memory-mapped.
    """

    stamp: str
    folder: Path
    encoder: CorpusEncoder
    first: np.ndarray
    turns: np.ndarray
    conversation: np.ndarray
    turn: np.ndarray
    role: np.ndarray
    time: np.ndarray
    tokens: np.ndarray
    numbers: Mapping[str, np.ndarray]
    vectors: np.ndarray
    conversation_vectors: np.ndarray

    @property
    def speaks(self) -> BoolArray:
        """The messages that are not empty (n,)."""
        return np.fromiter((bool(text.strip()) for text in self.texts), bool, len(self.texts))

    @property
    def conversation_time(self) -> np.ndarray:
        """The first time in each conversation, NaN where none is known (m,)."""
        times = np.where(np.isnan(self.time), np.inf, self.time)
        earliest = np.minimum.reduceat(times, self.first) if len(self.first) else times
        return np.where(np.isinf(earliest), np.nan, earliest)

    @cached_property
    def plain(self) -> Sequence[str]:
        """The messages with a `GAP` for each placeholder and name of a person (n)."""
        persons = called_names(self.texts, self.conversation.tolist())
        for name, label in {**self.message_labels, **self.conversation_labels}.items():
            persons |= set(label.values) if holds_names(name, label.values) else set()
        find = names_finder(persons)
        bare = (without_placeholders(text) for text in self.texts)
        return [replaced(text, ((start, end, GAP) for start, end in find(text))) for text in bare]

    def columns(self, kind: Kind) -> dict[str, np.ndarray]:
        """The columns of messages or of conversations that a report takes over."""
        if kind == "message":
            return {name: getattr(self, name) for name in ("conversation", "turn", "role", "time")}
        return {"first": self.first, "turns": self.turns, "time": self.conversation_time}


def stored_corpus(store: ConversationStore, folder: Path) -> Corpus:
    """Read a store.

    The folder is for files of vectors, and must stay as long as the corpus. An empty store is a ``ValueError``.
    """
    tables = store.tables()
    state = tables.state
    turns: dict[str, int] = {}
    for batch in tables.conversations.batches(["conversation", "turns"]):
        turns |= zip(batch["conversation"].to_pylist(), batch["turns"].to_pylist())
    if not turns:
        raise ValueError("the store holds no conversation: add some with turnlens index")
    columns = _Columns(turns, state.dim, folder)
    for batch in tables.conversations.batches(_OF_CONVERSATIONS):
        columns.take_conversations(batch)
    with progress_of("reading", tables.messages.count_rows()) as advance:
        for batch in tables.messages.batches(_OF_MESSAGES):
            columns.take_messages(batch)
            advance(len(batch))
    encoder = CorpusEncoder(state.encoder, state.digest, store.encoder)
    stamp = f"{state.folder} {state.messages} {state.conversations}"
    return columns.corpus(Path(store.path).name.removesuffix(".store"), stamp, encoder)


def embedded_corpus(data: ConversationSource, encoder: Encoder, folder: Path) -> Corpus:
    """Embed conversations, in the same batches as a store does.

    The folder is as for `stored_corpus`. Without any conversation, it raises ``ValueError``.
    """
    conversations = read_conversations(data)
    embedder = store_encoder(encoder, "messages")
    records = [[without_sample_labels(record) for record in batch] for batch in batches(conversations)]
    last = {record.id: record for batch in records for record in batch}  # of those with the same id
    if not last:
        raise ValueError("expected one conversation or more, got none")
    columns = _Columns({id: len(record.messages) for id, record in last.items()}, embedder.dim, folder)
    with progress_of("embedding conversations", len(conversations)) as advance:
        for batch in records:
            _embed([record for record in batch if last[record.id] is record], embedder, columns)
            advance(len(batch))
    encoder_of = CorpusEncoder(embedder.name, embedder.digest(), lambda: embedder)
    return columns.corpus("conversations", "", encoder_of)


def _embed(records: Sequence[Record], encoder: StoreEncoder, columns: _Columns) -> None:
    """Embed conversations, and add them to the columns of a corpus."""
    if not records:
        return
    embedded = encoder.messages([text for record in records for text in record.texts])
    vectors = encoder.conversations([record.plain for record in records], embedded["vector"], embedded["tokens"])
    rows = [row for record in records for row in message_rows(record)]
    for batch in table_of(rows, message_schema(encoder.dim, False), **embedded).to_batches():
        columns.take_messages(batch)
    rows = [conversation_row(record) for record in records]
    for batch in table_of(rows, conversation_schema(encoder.dim), vector=vectors).to_batches():
        columns.take_conversations(batch)


class _Columns:
    """Collects rows of the tables of a store, which arrive in any order, as the columns of a corpus."""

    def __init__(self, turns: Mapping[str, int], dim: int, folder: Path) -> None:
        self._folder, self._ids = folder, list(turns)
        self._turns = np.asarray(list(turns.values()), np.uint32)
        self._first = np.cumsum([0, *turns.values()])[:-1].astype(np.uint32)
        self._row_of = {id: row for row, id in enumerate(turns)}
        self._message_of = dict(zip(turns, self._first.tolist()))
        count = sum(turns.values())
        self._labels, self._message_labels = Labels(len(turns)), Labels(count, self._first)
        self._texts: list[str] = [""] * count
        self._roles: dict[str, int] = {}
        self._role = np.zeros(count, np.uint16)
        self._time = np.full(count, np.nan)
        self._tokens = np.zeros(count, np.int32)
        self._vectors = mapped(folder / "messages.f32", count, dim)
        self._conversation_vectors = mapped(folder / "conversations.f32", len(turns), dim)

    def take_conversations(self, batch: pa.RecordBatch) -> None:
        """Put each conversation in its place."""
        rows = [self._row_of[id] for id in batch["conversation"].to_pylist()]
        self._conversation_vectors[rows] = _vectors(batch)
        for row, fields in zip(rows, batch["fields"].to_pylist()):
            self._labels.set(row, json.loads(fields))

    def take_messages(self, batch: pa.RecordBatch) -> None:
        """Put each message in the place that its conversation and turn give."""
        names, turns = batch["conversation"].to_pylist(), batch["turn"].to_pylist()
        rows = np.asarray([self._message_of[name] + turn for name, turn in zip(names, turns)])
        self._vectors[rows] = _vectors(batch)
        self._tokens[rows] = batch["tokens"].to_numpy()
        self._role[rows] = [self._roles.setdefault(role, len(self._roles)) for role in batch["role"].to_pylist()]
        self._time[rows] = _seconds(batch["time"])
        for row, text, fields in zip(rows.tolist(), batch["text"].to_pylist(), batch["fields"].to_pylist()):
            self._texts[row] = text
            self._message_labels.set(row, json.loads(fields))

    def corpus(self, title: str, stamp: str, encoder: CorpusEncoder) -> Corpus:
        """Return the corpus, once all rows are there."""
        first, turns = self._first, self._turns
        message_numbers = self._message_labels.numbers()
        return Corpus(
            title=title,
            stamp=stamp,
            folder=self._folder,
            encoder=encoder,
            ids=self._ids,
            first=first,
            turns=turns,
            texts=self._texts,
            conversation=np.repeat(np.arange(len(turns), dtype=np.uint32), turns),
            turn=(np.arange(turns.sum(), dtype=np.uint32) - np.repeat(first, turns)).astype(np.uint16),
            roles=list(self._roles),
            role=self._role,
            time=self._time,
            tokens=self._tokens,
            vectors=self._vectors,
            conversation_vectors=self._conversation_vectors,
            message_labels=self._message_labels.finished(),
            conversation_labels=self._labels.finished(),
            numbers=self._numbers(message_numbers),
            message_numbers=message_numbers,
        )

    def _numbers(self, message_numbers: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return numbers of conversations, means of the numbers of their messages, and their minutes."""
        numbers = {name: means_of(values, self._first) for name, values in message_numbers.items()}
        numbers |= self._labels.numbers()
        is_known = (self._tokens > 0) & ~np.isnan(self._time)
        latest = np.maximum.reduceat(np.where(is_known, self._time, -np.inf), self._first)
        earliest = np.minimum.reduceat(np.where(is_known, self._time, np.inf), self._first)
        with np.errstate(invalid="ignore"):
            minutes = np.round((latest - earliest) / 60, 4)
        minutes = np.where(np.isfinite(minutes), minutes, np.nan)
        return numbers | ({DURATION: minutes} if (minutes > 0).any() else {})


def means_of(values: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the mean over each conversation of values of messages (n,), from its first message on; NaN: not known."""
    known = ~np.isnan(values)
    counts = np.add.reduceat(known.astype(float), first)
    return np.where(counts > 0, np.add.reduceat(np.where(known, values, 0.0), first) / np.maximum(counts, 1), np.nan)


def in_history(vectors: Vectors, corpus: Corpus) -> FloatArray:
    """Return vectors of messages that include those before them, see `add_history`, memory-mapped (n, dim)."""
    added = mapped(corpus.folder / "history.f32", *corpus.vectors.shape)
    for start in range(0, len(corpus.ids), _CONVERSATIONS_AT_ONCE):
        turns = corpus.turns[start : start + _CONVERSATIONS_AT_ONCE]
        first = int(corpus.first[start])
        rows = slice(first, first + int(turns.sum()))
        added[rows] = add_history(vectors[rows], turns)
    return added


def _vectors(batch: pa.RecordBatch) -> np.ndarray:
    return vectors_of(pa.chunked_array([batch["vector"]]))


def _seconds(times: pa.Array) -> np.ndarray:
    """Return times as seconds since 1970, NaN for none."""
    micros = times.cast(pa.int64()).to_numpy(zero_copy_only=False).astype(float)
    return np.asarray(micros / 1e6)


def mapped(path: Path, rows: int, dim: int) -> Any:
    """Make room for vectors in a file (rows, dim)."""
    return np.memmap(path, np.float32, "w+", shape=(max(rows, 1), dim))[:rows]
