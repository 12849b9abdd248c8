"""New generations of a store's tables, written beside the old ones, which then give way.

Moving to another encoder embeds everything again; building the copy can be resumed, like adding to any store. Erasing
writes the current rows again and removes all other files: LanceDB deletes rows by marking them as deleted, so their
content stays in the data files, in the words of the text index, and in the log of transactions, which quotes the ids.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from turnlens._utils.checked_arrays import load_checked, save_checked
from turnlens._utils.registries import GROUPS_FILE
from turnlens.store.batches import add_batch, batches, delete_conversations
from turnlens.store.indexes import RETENTION, add_text_index, has_text_index, tidy, tidy_if_due
from turnlens.store.lance_table import LanceTable, Tables
from turnlens.store.records import all_ids, conversations_of
from turnlens.store.state import STATE_FILE, StoreState, naming_damage, read_state, state_stamp, write_state
from turnlens.store.tables import FIRST_FOLDER, Transaction, create_tables, new_state, transaction

if TYPE_CHECKING:
    from turnlens.store.store_encoder import StoreEncoder


_PREFIX = "reindexed-"  # followed by the digest of the encoder
ERASED = "erased-"  # followed by random digits
FINDINGS_FILE = "report.safetensors"  # what the explorer has computed about each message and conversation
OVERVIEW_FILE = "groups.json"  # its groups in brief


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
        kept = set(all_ids(old))
        if gone := [name for name in all_ids(copying.tables) if name not in kept]:  # since the copy was begun
            delete_conversations(copying, gone)
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


def erase(path: Path, changes: Transaction, ids: list[str], progress: Callable[[int], None] | None) -> int:
    """Delete conversations, and remove every byte of them and of all that was deleted or replaced before.

    If the process is killed, the store is sound, and the same call finishes the work. Tables from which nothing was
    ever deleted stay as they are.

    Args:
        path: The store.
        changes: A transaction of the store, which keeps other writers out; it can only be left afterwards.
        ids: The ids of the conversations to delete.
        progress: Called with numbers of messages that were written.

    Returns:
        How many of the conversations there were.
    """
    count = delete_conversations(changes, ids)
    if not changes.is_pristine or other_folders(path, changes.tables.state):
        _write_anew(path, changes.tables, progress)
    _forget_words(path / GROUPS_FILE)
    for name in (FINDINGS_FILE, OVERVIEW_FILE):
        (path / name).unlink(missing_ok=True)
    return count


def _write_anew(path: Path, old: Tables, progress: Callable[[int], None] | None) -> None:
    """Write the current rows into a new folder, switch to it, and remove all others."""
    for folder in other_folders(path, old.state):
        shutil.rmtree(folder)
    copy = path / f"{ERASED}{uuid4().hex[:12]}"  # a new name each time, since LanceDB may cache by path
    write_state(copy, create_tables(copy, replace(old.state, folder=FIRST_FOLDER, indexes={})))
    with transaction(copy) as copying, naming_damage(path):
        _copy(old.messages, copying.tables.messages, progress)
        _copy(old.conversations, copying.tables.conversations, None)
        if has_text_index(old):
            add_text_index(copying.tables, old.state.tokenizer, old.state.language, [])
        copying.commit(commits=0)
        tidy(copying, RETENTION)
    state = switch(path, copy)
    for folder in other_folders(path, state):
        shutil.rmtree(folder)


def _copy(source: LanceTable, target: LanceTable, progress: Callable[[int], None] | None) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        for batch in source.batches(source.schema.names):
            yield batch
            if progress is not None:
                progress(len(batch))

    target.inner.add(pa.RecordBatchReader.from_batches(source.schema, batches()))


def _forget_words(file: Path) -> None:
    """Remove words and vectors of texts from the memory of groups; the explorer finds them again.

    Names given by users stay.
    """
    if not file.is_file():
        return
    try:
        facts = load_checked(file)
        for memory in facts.values():
            for group in memory["groups"].values() if isinstance(memory, dict) else ():
                group["phrases"] = []
                group["name"] = group["name"] if group["renamed"] else ""
            if isinstance(memory, dict):
                memory["basis"] = None
    except (ValueError, KeyError, TypeError, AttributeError):
        file.unlink()  # it is damaged, and the groups will be made again
        return
    save_checked(file, facts)
