"""A store in a folder: two tables of LanceDB, committed together by one small file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from turnwise.store.damage import naming_damage
from turnwise.store.erasing import erase
from turnwise.store.indexing import RETENTION, tidy, tidy_is_due
from turnwise.store.lance_table import Tables
from turnwise.store.reindexing import forget_old, reindex
from turnwise.store.state import (
    LOCK_FILE,
    LOCK_SECONDS,
    StoreError,
    holds_rows,
    no_store,
    state_stamp,
    write_state,
    writer_lock,
)
from turnwise.store.tables import Reader, Transaction, create_tables, new_state, transaction

if TYPE_CHECKING:
    from turnwise.store.encoding import StoreEncoder


class Folder:
    """The tables of a store in a folder, and what changes them.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader = Reader(path)

    def exists(self) -> bool:
        """Whether a store exists there."""
        return state_stamp(self._path) is not None

    def create(self, encoder: StoreEncoder, tokenizer: str, language: str) -> None:
        """Create an empty store.

        Raises:
            StoreError: The folder holds something else.
        """
        path = self._path
        # If there is a lock, a process was killed while it made the store.
        if path.exists() and not (path / LOCK_FILE).is_file() and (not path.is_dir() or any(path.iterdir())):
            raise StoreError(f"{path} holds something other than a store: choose another folder")
        with writer_lock(path, LOCK_SECONDS):
            if not self.exists():  # no other process made it meanwhile
                if holds_rows(path):
                    raise no_store(path)
                write_state(path, create_tables(path, new_state(encoder, tokenizer, language)))

    def tables(self) -> Tables:
        """The tables as last committed by any process."""
        return self._reader.tables()

    def changes(self, seconds: float) -> AbstractContextManager[Transaction]:
        """Begin a transaction as the only writer."""
        return transaction(self._path, seconds)

    def tidy(self, changes: Transaction, is_adding: bool = False) -> None:
        """Merge small files when there are many; ``is_adding`` says that there will soon be more."""
        with naming_damage(self._path):
            if tidy_is_due(changes.tables, is_adding):
                tidy(changes, RETENTION)

    def compact(self, changes: Transaction, retention: timedelta) -> None:
        """Merge small files, build indexes, and remove versions that nobody reads any more."""
        with naming_damage(self._path):
            tidy(changes, retention)
        forget_old(self._path, changes.tables.state)

    def reindex(
        self, changes: Transaction, encoder: StoreEncoder, seconds: float, progress: Callable[[int], None] | None
    ) -> None:
        """Move the store to another encoder."""
        reindex(self._path, changes, encoder, seconds, progress)

    def erase(
        self, changes: Transaction, ids: list[str], seconds: float, progress: Callable[[int], None] | None
    ) -> int:
        """Delete conversations, and remove every byte of what was deleted."""
        return erase(self._path, changes, ids, seconds, progress)

    def bytes(self) -> int:
        """The size of the store on disk in bytes."""
        return sum(file.stat().st_size for file in self._path.rglob("*") if file.is_file())
