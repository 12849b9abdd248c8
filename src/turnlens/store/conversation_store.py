"""The conversation store: conversations and their vectors, searched while new ones arrive."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from turnlens._utils.arguments import require_list
from turnlens.store.annotations import (
    Annotation,
    annotated,
    annotations_of,
    forget_annotations,
    labelled_rows,
    read_annotations,
    rows_in,
    without_sample_labels,
    write_annotations,
)
from turnlens.store.batches import add_batch, batches, check_generated_ids, delete_conversations
from turnlens.store.hits import AddReport
from turnlens.store.indexes import RETENTION, tidy, tidy_if_due
from turnlens.store.open_arguments import folder_of, other_encoder, other_tokenizer, store_encoder
from turnlens.store.records import conversations_of
from turnlens.store.rewrites import erase, forget_old, reindex
from turnlens.store.state import LOCK_SECONDS, StoreError, naming_damage, no_store, state_stamp
from turnlens.store.store_reader import StoreReader
from turnlens.store.tables import Reader, Transaction, create_store, transaction

if TYPE_CHECKING:
    from turnlens.data.conversation_source import ConversationSource
    from turnlens.store.open_arguments import Encoder
    from turnlens.store.store_encoder import StoreEncoder

_log = logging.getLogger("turnlens")


class ConversationStore(StoreReader):
    """Conversations in a folder, with vectors of messages and of whole conversations; see `open`.

    Searches see what any process last committed, and never wait for writers. Several threads may use a store.
    Filters (``where``) are expressions, see `turnlens.store.filters.read_filter`, or `SQL`.

    Examples:
        >>> from turnlens.store import ConversationStore
        >>> talk = {"id": "a", "messages": [{"role": "user", "content": "My card is lost."}]}
        >>> store = ConversationStore.create("talks", [talk], encoder=encoder)  # by default, the shipped one
        >>> hit = store.search_messages("lost card", mode="text")[0]
        >>> hit.conversation, hit.turn, hit.text
        ('a', 0, 'My card is lost.')
    """

    def __init__(
        self, path: Path, encoder: StoreEncoder | None = None, digest: str | None = None, read_only: bool | None = None
    ) -> None:
        if read_only is None:
            raise TypeError(f"a store is opened by ConversationStore.open({str(path)!r}), not by ConversationStore(…)")
        super().__init__(path, encoder, digest)
        self.read_only = read_only

    def __reduce__(self) -> tuple[Callable[[], Self], tuple[()]]:
        """Another process opens the store anew, and loads the encoder that it names."""
        return partial(type(self).open, self.path, create=False, read_only=self.read_only), ()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        encoder: Encoder = None,
        create: bool = True,
        read_only: bool = False,
        pooling: str = "messages",
        tokenizer: str = "",
        language: str = "English",
    ) -> Self:
        """Open a store, or make a new one.

        Args:
            path: The folder.
            encoder: The encoder, its folder or its Hub name; a `StoreEncoder` uses it in a way of your own.
                ``None`` is the encoder of the store, loaded when it is needed; for a new store, the default encoder.
                A new store keeps the place that its encoder was loaded from: give one that you have trained by the
                folder it was saved to, or give it again each time.
            create: Make a new store if there is none. It has no effect with ``read_only``.
            read_only: Refuse to change anything.
            pooling: For a new store: how whole conversations are pooled, see `turnlens.ConversationEncoder`. With
                ``"messages"`` only messages are embedded.
            tokenizer: For a new store: the tokenizer of its text search, ``"simple"`` (words by their stems),
                ``"icu"`` (words of any languages), ``"ngram"`` (pairs of characters) or another of LanceDB's; by
                default the one that fits the first texts.
            language: For a new store: the language of the stems and stop words of ``"simple"``.

        Raises:
            StoreError: There is no store, the folder holds something else, or the store has another encoder or another
                tokenizer.
        """
        path = folder_of(path)
        reader = Reader(path)
        if state_stamp(path) is not None:
            chosen = None if encoder is None else store_encoder(encoder, reader.tables().state.pooling)
        elif read_only or not create:
            raise no_store(path)
        else:
            chosen = store_encoder(encoder, pooling)
            create_store(path, chosen, tokenizer, language)
        digest = chosen.digest() if chosen is not None else None
        state = reader.tables().state
        if tokenizer not in ("", state.tokenizer):
            raise other_tokenizer(path, state, tokenizer)
        if digest not in (None, state.digest):
            raise other_encoder(path, state, str(chosen and chosen.name))
        return cls(path, chosen, digest, read_only)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        data: ConversationSource,
        *,
        encoder: Encoder = None,
        pooling: str = "messages",
        tokenizer: str = "",
        language: str = "English",
        progress: Callable[[int], None] | None = None,
        cache: bool = False,
    ) -> Self:
        """Make a new store of conversations.

        If this is interrupted, `open` the store and `add` the same conversations to complete it.

        Args:
            path: As for `open`.
            data: The conversations, as for `add`.
            encoder: As for `open`.
            pooling: As for `open`.
            tokenizer: As for `open`.
            language: As for `open`.
            progress: As for `add`.
            cache: As for `add`.

        Raises:
            ConversationError: As for `add`.
            StoreError: There is a store already, or the folder holds something else.
            TypeError: The folder, which comes first, is no path.
        """
        path = folder_of(path)
        if state_stamp(path) is not None:
            raise StoreError(f"{path} is already a store: open it and add to it instead")
        from turnlens.data.conversations import ConversationInput

        rows = ConversationInput(data).rows_with_ids()  # before there is a folder, which wrong names would leave behind
        store = cls.open(path, encoder=encoder, pooling=pooling, tokenizer=tokenizer, language=language)
        store.add(rows, progress=progress, cache=cache)
        store.compact()
        return store

    def add(
        self, data: ConversationSource, *, progress: Callable[[int], None] | None = None, cache: bool = False
    ) -> AddReport:
        """Add conversations, or the new messages of conversations that are stored already.

        Each batch is committed as a whole. If the process is killed, the store holds the batches before, and adding
        the same conversations again completes it. For unchanged conversations only a hash is computed; for those that
        have grown, only the new messages are embedded.

        Args:
            data: Rows ``{"id", "messages", …labels}`` from a list, a `datasets.Dataset` or an iterator; or
                anything else that `turnlens.read_conversations` reads, if it contains the conversations' ids. The
                content of a message may be in any layout that files may have, such as a list of parts.
            progress: Called after each batch with the number of its conversations.
            cache: Keep the vectors of messages for next time, see `VectorCache`.

        Raises:
            ConversationError: A row has no id or no messages; those before it may have been added. Or an id was made of
                the name of its file, and the store has another conversation under it; nothing was added.
            StoreError: The store is read-only, or another process is writing to it.
        """
        from turnlens.data.conversations import ConversationInput

        conversations = ConversationInput(data)
        with self._changes() as changes:
            rows = conversations.rows_with_ids()
            if files := conversations.files_by_name():
                check_generated_ids(changes.tables, rows, files)
            report = self._add(changes, rows, progress, cache)
        if report.lost:
            _log.warning(
                "%s: %d conversations were replaced by ones with fewer messages, %d messages in all; to put labels on "
                "conversations that are there, use turnlens store annotate",
                self.path,
                report.shortened,
                report.lost,
            )
        return report

    def annotate(self, data: ConversationSource, *, labels: Sequence[str]) -> int:
        """Put labels that people have given on conversations and on their messages.

        They are kept in the store's folder, and put on these conversations also when they are added again. A label of
        the source with the same name gives way; an empty value changes nothing. Rows about conversations or messages
        that the store does not have are left out, with a warning.

        If this is interrupted, the same call completes it.

        Args:
            data: A table (CSV, XLSX, Parquet) or chat JSONL, or a data frame or list: a row for each conversation or
                message, with the conversation in ``id`` (or ``conversation``) and, for a message, its ``turn``. For a
                sample that `turnlens export` wrote, the message is that of ``request_turn``. A label of a message is
                also one of its conversation, unless messages of the same conversation have different ones.
            labels: The names of the columns with labels.

        Returns:
            How many conversations have got labels, or had them already.

        Raises:
            ConversationError: A column is not there, a row cannot be used, or two rows contradict each other.
            StoreError: As for `add`.
            ValueError: No label is named, or one as a part of conversations is.
        """
        rows = labelled_rows(data, require_list(labels, "labels"))
        with self._changes() as changes:
            new_annotations = annotations_of(rows_in(changes.tables, rows))
            kept = read_annotations(self.path)
            new = {id: kept.get(id, Annotation()) | annotation for id, annotation in new_annotations.items()}
            if new:
                write_annotations(self.path, kept | new)
                self._add(changes, conversations_of(changes.tables, list(new)))
        return len(new)

    def _add(
        self,
        changes: Transaction,
        rows: Iterable[Mapping[str, Any]],
        progress: Callable[[int], None] | None = None,
        cache: bool = False,
    ) -> AddReport:
        """Add conversations with their annotations."""
        encoder = self._encoder(changes.tables.state)
        encoder = encoder.with_cache() if cache else encoder
        annotations = read_annotations(self.path)
        report = AddReport()
        seen: set[str] = set()
        repeated: list[str] = []
        for batch in batches(rows):
            repeated += [record.id for record in batch if record.id in seen]  # in a batch, ids are distinct
            seen.update(record.id for record in batch)
            records = [annotated(without_sample_labels(record), annotations) for record in batch]
            report += add_batch(changes, encoder, records)
            tidy_if_due(self.path, changes, is_adding=True)
            if progress is not None:
                progress(len(records))
        tidy_if_due(self.path, changes)
        if repeated:
            _log.warning(
                "%s: %d conversations have the id of one before, such as %r, and took its place: each needs its own",
                self.path,
                len(repeated),
                repeated[0],
            )
        return report + AddReport(repeated=len(repeated))

    def delete(self, ids: Sequence[str]) -> int:
        """Delete conversations with all their messages, so that no search finds them any more.

        Their bytes stay in older files of the store until `erase` removes them.

        Args:
            ids: The conversations, in a list also if there is only one.

        Returns:
            How many there were.

        Raises:
            StoreError: As for `add`.
            TypeError: A single id was given, not a list.
        """
        ids = list(dict.fromkeys(require_list(ids, "ids")))
        with self._changes() as changes:
            forget_annotations(self.path, ids)
            return delete_conversations(changes, ids)

    def erase(self, ids: Sequence[str] = (), *, progress: Callable[[int], None] | None = None) -> int:
        """Delete conversations, and remove every byte of them and of all that was deleted or replaced before.

        What remains is written again, and its indexes are built again, unless nothing was ever deleted or replaced. If
        the process is killed, the store is sound, and the same call finishes the work. A reader may get a `StoreError`
        meanwhile, and can read again afterwards.

        Args:
            ids: The conversations to delete now; by default none.
            progress: Called with numbers of messages that were written again.

        Returns:
            How many of these conversations there were.

        Raises:
            StoreError: As for `add`.
            TypeError: As for `delete`.
        """
        ids = list(dict.fromkeys(require_list(ids, "ids")))
        with self._changes() as changes:
            forget_annotations(self.path, ids)
            return erase(self.path, changes, ids, progress)

    def compact(self, *, retention: timedelta = RETENTION) -> None:
        """Merge small files, update the indexes, build those that are worth it, and remove old versions.

        Args:
            retention: Versions younger than this are kept, since others may be reading them.

        Raises:
            StoreError: As for `add`, or the store is damaged, see `check`.
        """
        self.check()
        with self._changes() as changes:
            with naming_damage(self.path):
                tidy(changes, retention)
            forget_old(self.path, changes.tables.state)

    def reindex(
        self, encoder: Encoder, *, pooling: str | None = None, progress: Callable[[int], None] | None = None
    ) -> None:
        """Embed everything with another encoder, and then switch to it; until then, searches use the old one.

        For the same encoder in another place, only the place is changed.

        If the process is killed, the same call continues where it stopped. The next `compact` removes the old vectors.

        Args:
            encoder: The new encoder, its folder or its Hub name; ``None`` is the default one.
            pooling: How whole conversations are pooled from now on; by default the pooling stays as it is.
            progress: Called after each batch with the number of its conversations.

        Raises:
            StoreError: As for `add`.
        """
        with self._changes() as changes:
            state = changes.tables.state
            new = store_encoder(encoder, pooling or state.pooling)
            digest = new.digest()
            if (digest, new.pooling) != (state.digest, state.pooling):
                reindex(self.path, changes, new, progress)
            elif new.name != state.encoder:
                changes.commit(encoder=new.name)
            self._own_encoder, self._loaded = new, (digest, new)

    def _changes(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction as the only writer."""
        if self.read_only:
            raise StoreError(f"{self.path} was opened read-only: open it without read_only")
        return transaction(self.path, LOCK_SECONDS)
