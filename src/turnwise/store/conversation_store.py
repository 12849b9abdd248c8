"""The conversation store: conversations and their vectors in a folder, searched while new ones arrive."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sentence_transformers import SentenceTransformer

from turnwise._utils.vectors import unit_vectors
from turnwise.data.messages import Message, plain_messages
from turnwise.encoders.loading import load_encoder
from turnwise.replies.sequence import Mode
from turnwise.store.adding import add_batch, batches, delete_conversations
from turnwise.store.encoding import StoreEncoder
from turnwise.store.filters import CONVERSATION_COLUMNS, MESSAGE_COLUMNS, filter_sql
from turnwise.store.hits import AddReport, ConversationHit, MessageHit, PrefixHit, ReplyHit, StoreStats
from turnwise.store.indexing import COMMITS_UNTIL_TIDY, RETENTION, tidy
from turnwise.store.message_search import find_messages, find_replies
from turnwise.store.prefixes import similar_places
from turnwise.store.reading import all_ids, conversations_of
from turnwise.store.reindexing import forget_old, reindex
from turnwise.store.searching import by_vector, index_for
from turnwise.store.state import (
    LOCK_FILE,
    IndexKind,
    StoreError,
    StoreState,
    read_state,
    state_stamp,
    write_state,
    writer_lock,
)
from turnwise.store.tables import Reader, create_tables, new_state, transaction

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

Encoder = SentenceTransformer | StoreEncoder | str | os.PathLike[str] | None
SearchMode = Literal["vector", "text", "hybrid"]
_MODES = ("vector", "text", "hybrid")
_LOCK_SECONDS = 5.0
_PREFIX_TURNS = 5
_CONVERSATION_COLUMNS = ["conversation", "turns", "speakers", "fields", "text", "first_time", "last_time"]


class ConversationStore:
    """Conversations in a folder, with the vectors of their messages and of the whole; made by `open`.

    Searches see what was last committed, by whichever process, and are never blocked. Several threads may use a store.
    Filters (``where``) are expressions, see `turnwise.store.filters.filter_sql`, or `SQL`.
    """

    def __init__(self, path: Path, encoder: StoreEncoder | None, digest: str | None, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self._given = encoder
        self._loaded: tuple[str, StoreEncoder] | None = None if encoder is None else (str(digest), encoder)
        self._reader = Reader(path)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        encoder: Encoder = None,
        create: bool = True,
        read_only: bool = False,
        pooling: str = "messages",
        tokenizer: str = "",
        language: str = "English",
    ) -> Self:
        """Open the store in a folder, or make a new one.

        Args:
            path: The folder.
            encoder: The encoder, its folder or its Hub name; a `StoreEncoder` where it is to be used in another way.
                ``None`` is that of the store, loaded when it is needed; for a new store, the default encoder.
            create: Make a new store if there is none; never with ``read_only``.
            read_only: Refuse to change anything.
            pooling: Of a new store: how whole conversations are pooled, see `turnwise.encode_conversations`. With
                ``"messages"`` nothing but messages is embedded.
            tokenizer: Of a new store: that of its text search, ``"simple"`` (words), ``"ngram"`` (pairs of characters)
                or another of LanceDB's; by default what fits the first texts.
            language: Of a new store: that of the stems and stop words of ``"simple"``.

        Raises:
            StoreError: There is no store, the folder holds something else, or the store has another encoder.
        """
        path = Path(path)
        if state_stamp(path) is not None:
            given = None if encoder is None else _store_encoder(encoder, read_state(path).pooling)
        elif read_only or not create:
            raise StoreError(f"{path} is no store: make one with turnwise index DATA --store {path}")
        else:
            given = _store_encoder(encoder, pooling)
            _create(path, given, tokenizer, language)
        digest = given.digest() if given is not None else None
        state = read_state(path)
        if digest not in (None, state.digest):
            raise _other_encoder(path, state, str(given and given.name))
        return cls(path, given, digest, read_only)

    def add(
        self, conversations: Iterable[Mapping[str, Any]], progress: Callable[[int], None] | None = None
    ) -> AddReport:
        """Add conversations, or what is new of them.

        Each batch is committed as a whole: killed at any moment, the store holds those before, and adding the same
        conversations again completes it. Unchanged conversations cost a hash, grown ones the embedding of their new
        messages.

        Args:
            conversations: Rows ``{"id", "messages", …labels}``: a `datasets.Dataset`, or any others.
            progress: Called after each batch with the number of its conversations.

        Raises:
            ConversationError: A row has no id or no messages; those before it may have been added.
            StoreError: The store is read-only, or another process is writing to it.
        """
        self._check_writable()
        report = AddReport()
        with transaction(self.path, _LOCK_SECONDS) as changes:
            encoder = self._encoder(changes.tables.state)
            for records in batches(conversations):
                report += add_batch(changes, encoder, records)
                if changes.tables.state.commits >= COMMITS_UNTIL_TIDY:
                    tidy(changes, RETENTION)
                if progress is not None:
                    progress(len(records))
        return report

    def delete(self, ids: Sequence[str]) -> int:
        """Delete conversations with all their messages.

        Returns:
            How many there were.

        Raises:
            StoreError: As for `add`.
        """
        self._check_writable()
        with transaction(self.path, _LOCK_SECONDS) as changes:
            return delete_conversations(changes, list(dict.fromkeys(ids)))

    def get(self, id: str) -> dict[str, Any] | None:
        """A conversation as it was added; ``None`` if it is not there."""
        return next(conversations_of(self._reader.tables(), [id]), None)

    def export(self) -> Iterator[dict[str, Any]]:
        """All conversations as they were added, in no particular order; those that are there now."""
        tables = self._reader.tables()
        return conversations_of(tables, all_ids(tables))

    def search_messages(
        self,
        query: str | ArrayLike,
        mode: SearchMode = "vector",
        where: str | None = None,
        limit: int = 10,
        offset: int = 0,
        diversity: float | None = None,
        reranker: CrossEncoder | None = None,
    ) -> list[MessageHit]:
        """Find messages like a text or a vector.

        Args:
            query: A text, or with mode ``"vector"`` a vector (dim,).
            mode: ``"vector"`` finds what means the same, ``"text"`` what shares words (BM25), ``"hybrid"`` fuses both
                rankings (reciprocal rank fusion).
            where: A filter on messages: conversation, turn, role, text, time, label.NAME; a message also has the labels
                of its conversation.
            limit: How many.
            offset: How many of the best to leave out.
            diversity: From 0 to 1: prefer hits that differ from those before (maximal marginal relevance).
            reranker: A cross-encoder that ranks the best again; the query must be a text.

        Raises:
            ValueError: A setting is out of range, or the query does not fit the mode.
            FilterError: The filter cannot be read.
        """
        _check_range(limit, offset)
        if mode not in _MODES:
            raise ValueError(f"mode must be one of {', '.join(_MODES)}, got {mode!r}")
        if not isinstance(query, str) and (mode != "vector" or reranker is not None):
            raise ValueError(f"expected a text for mode {mode!r} or a reranker, got {type(query).__name__}")
        tables = self._reader.tables()
        vector = None if mode == "text" else self._query_vector(tables.state, query)
        text = str(query) if mode != "vector" else None
        rerank = None if reranker is None else _scorer(reranker, str(query))
        return find_messages(tables, vector, text, _sql(where), limit, offset, diversity, rerank)

    def search_conversations(
        self, query: str | Sequence[Message], where: str | None = None, limit: int = 10, offset: int = 0
    ) -> list[ConversationHit]:
        """Find whole conversations like a text or a conversation.

        Args:
            query: A text, or messages ``{"role", "content"}``.
            where: A filter on conversations: conversation, turns, speaker, first_time, last_time, label.NAME.
            limit: How many.
            offset: How many of the best to leave out.

        Raises:
            ValueError: A setting is out of range.
            FilterError: The filter cannot be read.
        """
        _check_range(limit, offset)
        tables = self._reader.tables()
        messages = [{"role": "user", "content": query}] if isinstance(query, str) else query
        vector = self._encoder(tables.state).conversation_query(plain_messages(list(messages), "the conversation"))
        sql = None if where is None else filter_sql(where, CONVERSATION_COLUMNS)
        index = index_for(tables, "conversation", sql)
        found = by_vector(tables.conversations, "vector", vector, sql, limit + offset, _CONVERSATION_COLUMNS, index)
        return [_conversation_hit(row) for row in found.slice(offset, limit).to_pylist()]

    def similar_prefix(
        self,
        messages: Sequence[Message],
        where: str | None = None,
        limit: int = 10,
        offset: int = 0,
        next_turns: int = 3,
    ) -> list[PrefixHit]:
        """Find conversations that went like this one so far, with the turn where they match and what happened next.

        Args:
            messages: The conversation so far, ``{"role", "content"}`` each; its last five turns count, the last most.
            where: A filter on messages, as for `search_messages`: those compared first.
            limit: How many conversations.
            offset: How many of the best to leave out.
            next_turns: How many messages after the matching turn to return.

        Raises:
            ValueError: There is no message, or a setting is out of range.
            FilterError: The filter cannot be read.
        """
        _check_range(limit, offset)
        tables = self._reader.tables()
        last = plain_messages(list(messages), "the conversation")[-_PREFIX_TURNS:]
        columns = self._encoder(tables.state).messages([message["content"] for message in reversed(last)])
        return similar_places(tables, columns["vector"], _sql(where), limit, offset, next_turns)

    def next_replies(
        self,
        messages: Sequence[Message],
        last_rows: int | None = None,
        distinct: bool = True,
        where: str | None = None,
        limit: int = 10,
        offset: int = 0,
        mode: Mode | None = None,
        speaker: str | None = None,
    ) -> list[ReplyHit]:
        """Rank all messages of the store as the next one of a conversation, as `turnwise.SequenceModel` does.

        Args:
            messages: The conversation so far, ``{"role", "content"}`` each.
            last_rows: Of mode ``"average"``, see `turnwise.SequenceModel`.
            distinct: Each text once.
            where: A filter on messages, as for `search_messages`.
            limit: How many.
            offset: How many of the best to leave out.
            mode: How to score: any of the model's but ``"max"``; by default its first.
            speaker: Who speaks next; by default whoever spoke before the last speaker.

        Raises:
            ValueError: There is no message, a setting is out of range, or the model does not serve the mode.
            FilterError: The filter cannot be read.
        """
        _check_range(limit, offset)
        tables = self._reader.tables()
        plain = plain_messages(list(messages), "the conversation")
        query = self._encoder(tables.state).reply_query(plain, mode, last_rows, speaker)
        return find_replies(tables, query, _sql(where), limit, offset, distinct)

    def stats(self) -> StoreStats:
        """What the store holds."""
        tables = self._reader.tables()
        size = sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())
        state = tables.state
        return StoreStats(
            conversations=tables.conversations.count_rows(),
            messages=tables.messages.count_rows(),
            bytes=size,
            encoder=state.encoder,
            pooling=state.pooling,
            tokenizer=state.tokenizer,
            indexes=state.indexes,
        )

    def compact(self, retention: timedelta = RETENTION, index: IndexKind | None = None) -> None:
        """Merge small files, bring the indexes up to date, build them where they pay, and forget old versions.

        Args:
            retention: Versions younger than this are kept for those who are reading them.
            index: Build the vector indexes anew: ``"flat"`` is the most accurate, ``"compressed"`` the quickest
                with millions of messages.

        Raises:
            StoreError: As for `add`.
        """
        self._check_writable()
        with transaction(self.path, _LOCK_SECONDS) as changes:
            tidy(changes, retention, index)
            forget_old(self.path, changes.tables.state)

    def reindex(
        self,
        encoder: Encoder,
        pooling: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Embed everything with another encoder and switch to it at once; searches go on with the old one until then.

        Killed at any moment, the same call goes on where it was. The old vectors are removed by the next `compact`.

        Args:
            encoder: The new encoder, its folder or its Hub name; ``None`` is the default one.
            pooling: How whole conversations are pooled from now on; by default as before.
            progress: Called after each batch with the number of its conversations.

        Raises:
            StoreError: As for `add`.
        """
        self._check_writable()
        with transaction(self.path, _LOCK_SECONDS) as changes:
            state = changes.tables.state
            new = _store_encoder(encoder, pooling or state.pooling)
            digest = new.digest()
            if (digest, new.pooling) != (state.digest, state.pooling):
                reindex(self.path, changes, new, _LOCK_SECONDS, progress)
            self._given, self._loaded = new, (digest, new)

    def close(self) -> None:
        """Forget the encoder and the tables; a store needs no closing."""
        self._reader = Reader(self.path)
        self._loaded = None

    def _encoder(self, state: StoreState) -> StoreEncoder:
        """The encoder that the vectors are of."""
        if self._loaded is None or (self._given is None and self._loaded[0] != state.digest):
            encoder = StoreEncoder(load_encoder(state.encoder), state.pooling)
            self._loaded = (encoder.digest(), encoder)
        digest, encoder = self._loaded
        if digest != state.digest:
            raise _other_encoder(self.path, state, encoder.name)
        encoder.pooling = state.pooling  # another process may have changed it
        return encoder

    def _query_vector(self, state: StoreState, query: str | ArrayLike) -> np.ndarray:
        if isinstance(query, str):
            return self._encoder(state).text_query(query)
        vector = np.asarray(query, np.float32)
        if vector.shape != (state.dim,):
            raise ValueError(f"expected a vector of {state.dim} numbers, got shape {vector.shape}")
        return unit_vectors(vector)

    def _check_writable(self) -> None:
        if self.read_only:
            raise StoreError(f"{self.path} was opened read-only: open it without read_only")


def _store_encoder(encoder: Encoder, pooling: str) -> StoreEncoder:
    if isinstance(encoder, StoreEncoder):
        return encoder
    return StoreEncoder(encoder if isinstance(encoder, SentenceTransformer) else load_encoder(encoder), pooling)


def _create(path: Path, encoder: StoreEncoder, tokenizer: str, language: str) -> None:
    # A lock shows that a process was killed while it made the store.
    if path.exists() and not (path / LOCK_FILE).is_file() and (not path.is_dir() or any(path.iterdir())):
        raise StoreError(f"{path} holds something else than a store: choose another folder")
    with writer_lock(path, _LOCK_SECONDS):
        if state_stamp(path) is None:  # no other process made it meanwhile
            write_state(path, create_tables(path, new_state(encoder, tokenizer, language)))


def _other_encoder(path: Path, state: StoreState, name: str) -> StoreError:
    return StoreError(
        f"{path} holds vectors of {state.encoder} ({state.digest}), not of {name}: open it without naming an encoder, "
        "or move it to the other one with reindex"
    )


def _sql(where: str | None) -> str | None:
    return None if where is None else filter_sql(where, MESSAGE_COLUMNS)


def _check_range(limit: int, offset: int) -> None:
    if limit < 1 or offset < 0:
        raise ValueError(f"limit must be 1 or more and offset 0 or more, got {limit} and {offset}")


def _scorer(reranker: CrossEncoder, query: str) -> Callable[[Sequence[str]], np.ndarray]:
    return lambda texts: np.asarray(reranker.predict([(query, text) for text in texts], show_progress_bar=False))


def _conversation_hit(row: Mapping[str, Any]) -> ConversationHit:
    names = ("score", "conversation", "turns", "speakers", "text", "first_time", "last_time")
    return ConversationHit(**{name: row[name] for name in names}, labels=json.loads(row["fields"]))
