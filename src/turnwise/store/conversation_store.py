"""The conversation store: conversations and their vectors, searched while new ones arrive."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Self

from turnwise.data.conversations import rows_of
from turnwise.data.reading.given import Given
from turnwise.store.adding import add_batch, batches, delete_conversations
from turnwise.store.hits import AddReport
from turnwise.store.indexing import RETENTION
from turnwise.store.opening import backend_of, other_encoder, place_of, store_encoder
from turnwise.store.state import LOCK_SECONDS, IndexKind, StoreError
from turnwise.store.store_reader import StoreReader

if TYPE_CHECKING:
    from turnwise.store.encoding import StoreEncoder
    from turnwise.store.opening import Encoder


class ConversationStore(StoreReader):
    """Conversations in a folder or on a server, with vectors of their messages and of the whole; made by `open`.

    Searches see what was last committed, by whichever process, and are never blocked. Several threads may use a store.
    Filters (``where``) are expressions, see `turnwise.store.filters.filter_sql`, or `SQL`.
    """

    def __init__(self, path: Path | str, encoder: StoreEncoder | None, digest: str | None, read_only: bool) -> None:
        super().__init__(path, encoder, digest)
        self.read_only = read_only

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
        """Open a store, or make a new one.

        Args:
            path: The folder, or a collection of a Qdrant server: ``qdrant://host:6333/collection``.
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
        place = place_of(path)
        backend = backend_of(place)
        if backend.exists():
            given = None if encoder is None else store_encoder(encoder, backend.tables().state.pooling)
        elif read_only or not create:
            raise StoreError(f"{place} is no store: make one with turnwise index DATA --store {place}")
        else:
            given = store_encoder(encoder, pooling)
            backend.create(given, tokenizer, language)
        digest = given.digest() if given is not None else None
        state = backend.tables().state
        if digest not in (None, state.digest):
            raise other_encoder(place, state, str(given and given.name))
        return cls(place, given, digest, read_only)

    def add(
        self,
        conversations: Given,
        progress: Callable[[int], None] | None = None,
        cache: bool = False,
    ) -> AddReport:
        """Add conversations, or what is new of them.

        Each batch is committed as a whole: killed at any moment, the store holds those before, and adding the same
        conversations again completes it. Unchanged conversations cost a hash, grown ones the embedding of their new
        messages.

        Args:
            conversations: Rows ``{"id", "messages", …labels}``, of a list, a `datasets.Dataset` or an iterator; or
                whatever else `turnwise.read_conversations` reads, if it says the conversations' ids.
            progress: Called after each batch with the number of its conversations.
            cache: Keep the vectors of messages for next time, see `turnwise.VectorCache`.

        Raises:
            ConversationError: A row has no id or no messages; those before it may have been added.
            StoreError: The store is read-only, or another process is writing to it.
        """
        self._check_writable()
        report = AddReport()
        with self._backend.changes(LOCK_SECONDS) as changes:
            encoder = self._encoder(changes.tables.state)
            encoder = encoder.with_cache() if cache else encoder
            for records in batches(rows_of(conversations)):
                report += add_batch(changes, encoder, records)
                self._backend.tidy(changes)
                if progress is not None:
                    progress(len(records))
        return report

    def delete(self, ids: Sequence[str]) -> int:
        """Delete conversations with all their messages: nothing finds them any more, but see `erase`.

        Returns:
            How many there were.

        Raises:
            StoreError: As for `add`.
        """
        self._check_writable()
        with self._backend.changes(LOCK_SECONDS) as changes:
            return delete_conversations(changes, list(dict.fromkeys(ids)))

    def erase(self, ids: Sequence[str] = (), progress: Callable[[int], None] | None = None) -> int:
        """Delete conversations, and leave no byte in the folder of these or of what was deleted or replaced before.

        What remains is written anew, and its indexes are built anew. Killed at any moment, this leaves a sound store,
        and the same call does the rest. Who is reading meanwhile may get a `StoreError`, and reads on afterwards.

        Args:
            ids: What to delete now; by default nothing further.
            progress: Called with numbers of messages that were written anew.

        Returns:
            How many of these conversations there were.

        Raises:
            StoreError: As for `add`, or the store is on a server.
        """
        self._check_writable()
        with self._backend.changes(LOCK_SECONDS) as changes:
            return self._backend.erase(changes, list(dict.fromkeys(ids)), LOCK_SECONDS, progress)

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
        with self._backend.changes(LOCK_SECONDS) as changes:
            self._backend.compact(changes, retention, index)

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
        with self._backend.changes(LOCK_SECONDS) as changes:
            state = changes.tables.state
            new = store_encoder(encoder, pooling or state.pooling)
            digest = new.digest()
            if (digest, new.pooling) != (state.digest, state.pooling):
                self._backend.reindex(changes, new, LOCK_SECONDS, progress)
            self._given, self._loaded = new, (digest, new)

    def _check_writable(self) -> None:
        if self.read_only:
            raise StoreError(f"{self.path} was opened read-only: open it without read_only")
