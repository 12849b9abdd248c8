"""The two LanceDB tables at their current versions, transactions over both, and the key of pseudonyms beside them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnlens._compat import lighten_lancedb
from turnlens._utils.files import load_or_create_key
from turnlens.errors import error_line
from turnlens.store.indexes import add_text_index, has_text_index
from turnlens.store.lance_table import LanceTable, Tables
from turnlens.store.open_arguments import folder_of
from turnlens.store.records import conversation_schema, message_schema
from turnlens.store.state import (
    LOCK_FILE,
    LOCK_SECONDS,
    StoreError,
    StoreState,
    holds_rows,
    naming_damage,
    no_store,
    not_permitted,
    read_state,
    state_stamp,
    write_state,
    writer_lock,
)
from turnlens.store.vector_search import VectorSearch

if TYPE_CHECKING:
    from turnlens.store.store_encoder import StoreEncoder


FIRST_FOLDER = "v1"
_PRISTINE = "pristine"  # a file beside tables from which nothing was ever deleted or rolled back
# Of each table, the columns of vectors and the names of their indexes.
_INDEXES = {"messages": {"vector": "vector", "reply": "reply"}, "conversations": {"vector": "conversation"}}
# LanceDB reads these when it is imported. By default, compaction reads 2 GB ahead and balancing an index warns.
_ENVIRONMENT = {"LANCE_DEFAULT_IO_BUFFER_SIZE": str(32 * 2**20), "LANCEDB_LOG": "error"}

_INDEX_CACHE, _METADATA_CACHE = 128 * 2**20, 32 * 2**20  # bytes; LanceDB would take up to 6 GB and 1 GB


def new_state(encoder: StoreEncoder, tokenizer: str, language: str) -> StoreState:
    """The state of an empty store for an encoder."""
    return StoreState(
        folder=FIRST_FOLDER,
        encoder=encoder.name,
        digest=encoder.digest(),
        dim=encoder.dim,
        has_replies=encoder.has_replies,
        pooling=encoder.pooling,
        tokenizer=tokenizer,
        language=language,
    )


def create_tables(path: Path, state: StoreState) -> StoreState:
    """Create the tables of a new store, or of a new generation of it, without committing them."""
    folder = path / state.folder
    shutil.rmtree(folder, ignore_errors=True)  # left by a process that was killed while it made them
    with naming_damage(path):
        database = _database(folder)
        messages = database.create_table("messages", schema=message_schema(state.dim, state.has_replies))
        conversations = database.create_table("conversations", schema=conversation_schema(state.dim))
        state = replace(state, messages=messages.version, conversations=conversations.version)
    (folder / _PRISTINE).touch()
    return state


def create_store(path: Path, encoder: StoreEncoder, tokenizer: str, language: str) -> None:
    """Create an empty store.

    Raises:
        StoreError: The folder holds something else.
    """
    check_free(path)
    path.mkdir(parents=True, exist_ok=True)
    with writer_lock(path, LOCK_SECONDS):
        if state_stamp(path) is None:  # no other process made it meanwhile
            if holds_rows(path):
                raise no_store(path)
            write_state(path, create_tables(path, new_state(encoder, tokenizer, language)))


def check_free(path: Path) -> None:
    """Raise `StoreError` if the folder holds something other than a store."""
    # If there is a lock, a process was killed while it made the store.
    if path.exists() and not (path / LOCK_FILE).is_file() and (not path.is_dir() or any(path.iterdir())):
        raise StoreError(f"{path} holds something other than a store: choose another folder")


class Reader:
    """Gives the tables as last committed by any process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: tuple[tuple[int, int] | None, Tables] | None = None  # replaced as a whole, since threads share it

    def tables(self) -> Tables:
        """The tables, opened again if there was a commit."""
        stamp = state_stamp(self._path)
        opened = self._opened
        if opened is None or opened[0] != stamp:
            former = None if opened is None else opened[1]
            try:
                tables = open_tables(self._path, former)
            except StoreError:  # a writer has just tidied up: there is a newer state now
                tables = open_tables(self._path, former)
            self._opened = opened = (stamp, tables)
        return opened[1]


def open_tables(path: Path, former: Tables | None = None) -> Tables:
    """The tables at their current versions, for reading, with what an earlier version has loaded."""
    stamp, state = state_stamp(path), read_state(path)
    with naming_damage(path):
        database = _database(path / state.folder)
        messages, conversations = database.open_table("messages"), database.open_table("conversations")
        messages.checkout(state.messages)
        conversations.checkout(state.conversations)
    if former is not None and former.state.folder != state.folder:
        former = None

    def searched(inner: Any, table: str) -> LanceTable:
        indexes = {column: state.indexes.get(name, []) for column, name in _INDEXES[table].items()}
        loaded = getattr(former, table).search.loaded() if former is not None else {}
        return LanceTable(inner, path, stamp, VectorSearch(_vectors_folder(path, state), indexes, loaded))

    return Tables(state, searched(messages, "messages"), searched(conversations, "conversations"))


def _vectors_folder(path: Path, state: StoreState) -> Path:
    return path / state.folder / "vectors"


class Transaction:
    """A transaction over both tables; its changes take effect when `commit` has returned.

    Attributes:
        tables: The tables, with what was written.
        vectors: The folder of the indexes of vectors.
    """

    def __init__(self, path: Path, tables: Tables) -> None:
        self._path = path
        self.tables = tables
        self.vectors = _vectors_folder(path, tables.state)

    @property
    def is_pristine(self) -> bool:
        """True if nothing was ever deleted from these tables."""
        pristine = self.tables.messages.pristine
        return pristine is not None and pristine.exists()

    def commit(self, **changes: Any) -> None:
        """Commit what was written.

        Args:
            changes: Further changes of the state.
        """
        tables = self.tables
        with naming_damage(self._path):
            versions = {name: getattr(tables, name).inner.version for name in ("messages", "conversations")}
        state = replace(tables.state, **versions, **changes)
        write_state(self._path, state)
        self.tables = replace(tables, state=state)

    def prepare_texts(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """Build the full-text index with the first batch, and return its tokenizer."""
        state = self.tables.state
        with naming_damage(self._path):
            if has_text_index(self.tables):
                return state.tokenizer
            return add_text_index(self.tables, state.tokenizer, state.language, [row["text"] for row in rows])


@contextmanager
def transaction(path: Path, seconds: float = LOCK_SECONDS) -> Iterator[Transaction]:
    """Write to a store, after undoing what a killed writer left uncommitted.

    Args:
        path: The store.
        seconds: How long to wait for another writer.

    Raises:
        StoreError: There is no store.
        StoreLockedError: Another process is writing.
    """
    with writer_lock(path, seconds):
        state = read_state(path)
        with naming_damage(path):
            database = _database(path / state.folder)
            opened = {name: database.open_table(name) for name in ("messages", "conversations")}
            # both tables must be rolled back, so no short-circuit
            is_back = any([_rolled_back(table, getattr(state, name)) for name, table in opened.items()])
        pristine = path / state.folder / _PRISTINE
        tables = {name: LanceTable(table, path, pristine=pristine) for name, table in opened.items()}
        changes = Transaction(path, Tables(state, **tables))
        if is_back:
            pristine.unlink(missing_ok=True)
            changes.commit()
        yield changes


def _rolled_back(table: Any, version: int) -> bool:
    """Return a table to its committed version, and say whether it was beyond that version."""
    if table.version == version:
        return False
    table.checkout(version)
    table.restore()
    return True


def _database(folder: Path) -> Any:
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    lighten_lancedb()
    import lancedb

    session = lancedb.Session(index_cache_size_bytes=_INDEX_CACHE, metadata_cache_size_bytes=_METADATA_CACHE)
    # Rows keep their ids when files are merged, so that indexes of vectors stay right.
    return lancedb.connect(str(folder), session=session, storage_options={"new_table_enable_stable_row_ids": "true"})


ID_KEY_FILE = "ids.key"  # of a store whose texts were redacted


def id_key(path: str | os.PathLike[str]) -> bytes:
    """The key by which ids that hold personal data become pseudonyms in a store: see `turnlens.data.Redaction`.

    It is made when it is first needed, also for a store that is yet to be made.

    Raises:
        StoreError: The folder holds something other than a store, or this user must not read or write the key.
        ValueError: The key is damaged.
    """
    path = folder_of(path)
    file = path / ID_KEY_FILE
    try:
        if file.exists():
            return load_or_create_key(file)
        check_free(path)
        path.mkdir(parents=True, exist_ok=True)
        with writer_lock(path, LOCK_SECONDS):
            return load_or_create_key(file)
    except PermissionError as error:
        raise not_permitted(path, error_line(error)) from None
