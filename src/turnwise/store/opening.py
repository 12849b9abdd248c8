"""Opening a store with an encoder, and making a new one."""

from __future__ import annotations

import os
from pathlib import Path

from sentence_transformers import SentenceTransformer

from turnwise.encoders.loading import load_encoder
from turnwise.store.encoding import StoreEncoder
from turnwise.store.state import LOCK_FILE, StoreError, StoreState, state_stamp, write_state, writer_lock
from turnwise.store.tables import create_tables, new_state

LOCK_SECONDS = 5.0  # how long a writer waits for another
Encoder = SentenceTransformer | StoreEncoder | str | os.PathLike[str] | None


def store_encoder(encoder: Encoder, pooling: str) -> StoreEncoder:
    """The encoder as a store uses it, loaded if it is only named."""
    if isinstance(encoder, StoreEncoder):
        return encoder
    return StoreEncoder(encoder if isinstance(encoder, SentenceTransformer) else load_encoder(encoder), pooling)


def create_store(path: Path, encoder: StoreEncoder, tokenizer: str, language: str) -> None:
    """Make a new store in a folder.

    Raises:
        StoreError: The folder holds something else.
    """
    # A lock shows that a process was killed while it made the store.
    if path.exists() and not (path / LOCK_FILE).is_file() and (not path.is_dir() or any(path.iterdir())):
        raise StoreError(f"{path} holds something else than a store: choose another folder")
    with writer_lock(path, LOCK_SECONDS):
        if state_stamp(path) is None:  # no other process made it meanwhile
            write_state(path, create_tables(path, new_state(encoder, tokenizer, language)))


def other_encoder(path: Path, state: StoreState, name: str) -> StoreError:
    """The error of opening a store with another encoder than its own."""
    return StoreError(
        f"{path} holds vectors of {state.encoder} ({state.digest}), not of {name}: open it without naming an encoder, "
        "or move it to the other one with reindex"
    )
