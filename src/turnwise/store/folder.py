"""A store in a folder: two tables of LanceDB, committed together by one small file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from turnwise.store.backend import Changes, Tables
from turnwise.store.damage import naming_damage
from turnwise.store.erasing import erase
from turnwise.store.indexing import RETENTION, tidy, tidy_is_due
from turnwise.store.reindexing import forget_old, reindex
from turnwise.store.state import (
    LOCK_FILE,
    LOCK_SECONDS,
    STATE_FILE,
    IndexKind,
    StoreError,
    state_stamp,
    write_state,
    writer_lock,
)
from turnwise.store.tables import Reader, Transaction, create_tables, new_state, transaction

if TYPE_CHECKING:
    from turnwise.store.encoding import StoreEncoder


class Folder:
    """As `turnwise.store.backend.Backend`.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader = Reader(path)

    def exists(self) -> bool:
        """Whether there is a store."""
        return state_stamp(self._path) is not None

    def create(self, encoder: StoreEncoder, tokenizer: str, language: str) -> None:
        """Make one.

        Raises:
            StoreError: The folder holds something else.
        """
        path = self._path
        # A lock shows that a process was killed while it made the store.
        if path.exists() and not (path / LOCK_FILE).is_file() and (not path.is_dir() or any(path.iterdir())):
            raise StoreError(f"{path} holds something else than a store: choose another folder")
        with writer_lock(path, LOCK_SECONDS):
            if not self.exists():  # no other process made it meanwhile
                _check_lost(path)
                write_state(path, create_tables(path, new_state(encoder, tokenizer, language)))

    def tables(self) -> Tables:
        """What was last committed, by whichever process."""
        return self._reader.tables()

    def changes(self, seconds: float) -> AbstractContextManager[Transaction]:
        """Be the one writer."""
        return transaction(self._path, seconds)

    def tidy(self, changes: Changes) -> None:
        """Merge small files when there are many."""
        with naming_damage(self._path):
            if tidy_is_due(changes.tables):
                tidy(changes, RETENTION)

    def compact(self, changes: Changes, retention: timedelta, kind: IndexKind | None) -> None:
        """Merge small files, build indexes, and forget what nobody reads any more."""
        with naming_damage(self._path):
            tidy(changes, retention, kind)
        forget_old(self._path, changes.tables.state)

    def reindex(
        self, changes: Changes, encoder: StoreEncoder, seconds: float, progress: Callable[[int], None] | None
    ) -> None:
        """Move it to another encoder."""
        reindex(self._path, changes, encoder, seconds, progress)

    def erase(self, changes: Changes, ids: list[str], seconds: float, progress: Callable[[int], None] | None) -> int:
        """Delete conversations, and leave no byte of what was deleted."""
        return erase(self._path, changes, ids, seconds, progress)

    def bytes(self) -> int:
        """Its size on disk."""
        return sum(file.stat().st_size for file in self._path.rglob("*") if file.is_file())


def _check_lost(path: Path) -> None:
    """Refuse to make a store where one has lost its state; that of a process killed while it made one has no rows."""
    if next(path.rglob("*.lance/data/*.lance"), None) is not None:
        raise StoreError(
            f"{path / STATE_FILE} is missing, without which nothing tells what of the store counts: copy it back from "
            "a backup, or delete the folder and index again"
        )
