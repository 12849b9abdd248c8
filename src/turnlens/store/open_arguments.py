"""The folder and the encoder that a store is opened with, and errors about them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from turnlens._utils.files import is_url
from turnlens.store.state import StoreError, StoreState

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from turnlens.encoders.encoder import Encoder as ConversationalEncoder
    from turnlens.store.store_encoder import StoreEncoder

    Encoder: TypeAlias = ConversationalEncoder | SentenceTransformer | StoreEncoder | str | os.PathLike[str] | None

_ORDER = "the folder comes first, then the conversations: ConversationStore.create(folder, conversations)"


def store_encoder(encoder: Encoder, pooling: str) -> StoreEncoder:
    """The encoder as a store uses it; if only its name is given, it is loaded."""
    # Imported only when an encoder is needed.
    from turnlens.encoders.loading import as_encoder
    from turnlens.store.store_encoder import StoreEncoder

    return encoder if isinstance(encoder, StoreEncoder) else StoreEncoder(as_encoder(encoder), pooling)


def folder_of(path: str | os.PathLike[str]) -> Path:
    """The folder of a store.

    Raises:
        StoreError: It is a URL or a file.
        TypeError: It is no path.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path: expected the folder of the store, got {path!r:.60}; {_ORDER}")
    if is_url(path):
        raise StoreError(f"{path}: expected a folder on a disk, where a lock keeps a second writer out")
    if Path(path).is_file():
        raise StoreError(f"{path} is a file; expected the folder of a store; {_ORDER}")
    return Path(path)


def other_encoder(path: Path, state: StoreState, name: str) -> StoreError:
    """The error for opening a store with another encoder than its own."""
    return StoreError(
        f"{path} holds vectors of {state.encoder} ({state.digest}), not of {name}: open it without naming an encoder, "
        "or move it to the other one with reindex"
    )


def other_tokenizer(path: Path, state: StoreState, name: str) -> StoreError:
    """The error for opening a store with another tokenizer than its own."""
    has = state.tokenizer or "that will fit its first texts"
    return StoreError(
        f"{path} has the tokenizer {has}, not {name}, and keeps it: open it without naming one, or make a new store "
        f"(turnlens export {path} --output all.jsonl, then turnlens index all.jsonl --store NEW --tokenizer {name})"
    )
