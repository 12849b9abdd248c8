"""Moving a store to another encoder: a new store is built beside the old one, and then takes its place.

Building the new store can be resumed, like adding to any store.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from turnlens.store.adding import add_batch, batches, delete_conversations
from turnlens.store.damage import naming_damage
from turnlens.store.indexing import RETENTION, tidy, tidy_if_due
from turnlens.store.lance_table import Tables
from turnlens.store.reading import all_ids, conversations_of
from turnlens.store.state import STATE_FILE, StoreState, read_state, state_stamp, write_state
from turnlens.store.tables import FIRST_FOLDER, Transaction, create_tables, new_state, transaction

if TYPE_CHECKING:
    from turnlens.store.encoding import StoreEncoder

_PREFIX = "reindexed-"  # followed by the digest of the encoder
ERASED = "erased-"  # followed by random digits


def reindex(path: Path, changes: Transaction, encoder: StoreEncoder, progress: Callable[[int], None] | None) -> None:
    """Embed everything with another encoder, and switch to the result.

    Args:
        path: The store.
        changes: A transaction of the store, which keeps other writers out; it can only be left afterwards.
        encoder: The new encoder, with the pooling that the store will have.
        progress: Called after each batch with the number of its conversations.
    """
    old = changes.tables
    copy = path / f"{_PREFIX}{encoder.digest()}-{encoder.pooling.replace(':', '-')}"
    for unfinished in other_folders(path, old.state):
        if unfinished != copy and state_stamp(unfinished) is not None:
            shutil.rmtree(unfinished)
    if state_stamp(copy) is None:
        write_state(copy, create_tables(copy, new_state(encoder, old.state.tokenizer, old.state.language)))
    with transaction(copy) as copying:
        for records in batches(conversations_of(old, all_ids(old))):
            add_batch(copying, encoder, records)
            tidy_if_due(path, copying, is_adding=True)
            if progress is not None:
                progress(len(records))
        _delete_what_is_gone(old, copying)
        with naming_damage(path):
            tidy(copying, RETENTION)
    switch(path, copy)


def switch(path: Path, copy: Path) -> StoreState:
    """Let a finished store inside a store take its place, atomically, and return its state."""
    finished = read_state(copy)
    state = replace(finished, folder=f"{copy.name}/{finished.folder}")
    write_state(path, state)
    (copy / STATE_FILE).unlink()  # from now on, the folder is not a store of its own
    return state


def forget_old(path: Path, state: StoreState) -> None:
    """Remove the tables of earlier encoders, and the files that a killed `erase` left."""
    for folder in other_folders(path, state):
        if state_stamp(folder) is None or folder.name.startswith(ERASED):
            shutil.rmtree(folder, ignore_errors=True)


def other_folders(path: Path, state: StoreState) -> list[Path]:
    """The folders of tables that are not in use: of earlier encoders, and of unfinished copies, which are stores."""
    folders = [path / FIRST_FOLDER, *path.glob(f"{_PREFIX}*"), *path.glob(f"{ERASED}*")]
    return [folder for folder in folders if folder.is_dir() and Path(state.folder).parts[0] != folder.name]


def _delete_what_is_gone(old: Tables, copying: Transaction) -> None:
    """Delete from an unfinished copy what was deleted from the store since the copy was begun."""
    kept = set(all_ids(old))
    if gone := [name for name in all_ids(copying.tables) if name not in kept]:
        delete_conversations(copying, gone)
