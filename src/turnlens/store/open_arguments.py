"""The folder and the encoder that a store is opened with, and errors about them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from turnlens._utils.files import is_url
from turnlens.store.state import StoreError, StoreState

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from turnlens.store.store_encoder import StoreEncoder

    Encoder: TypeAlias = SentenceTransformer | StoreEncoder | str | os.PathLike[str] | None

_ORDER = "the folder comes first, then the conversations: ConversationStore.create(folder, conversations)"


def store_encoder(encoder: Encoder, pooling: str) -> StoreEncoder:
    """The encoder as a store uses it; if only its name is given, it is loaded now or when it is needed."""
    # Imported only when an encoder is needed: without one, most of the time would go into loading its libraries.
    from turnlens.encoders.quick_cache import forget_quick, keep_quick, quick_encoder
    from turnlens.store.store_encoder import StoreEncoder

    if isinstance(encoder, StoreEncoder):
        return encoder
    name = encoder if encoder is None or isinstance(encoder, str | os.PathLike) else ""
    quick = None if name == "" else quick_encoder(name)

    def load() -> SentenceTransformer:
        from turnlens.encoders.loading import as_encoder

        loaded = as_encoder(encoder)
        if quick is not None and StoreEncoder(loaded, pooling).digest() != quick.digest:
            forget_quick(name)
            raise ValueError(
                f"{quick.source} has other weights than when it was last used: if you know why, do this again; if "
                "not, a file of it is damaged"
            )
        return loaded

    if quick is not None:
        return StoreEncoder(load, pooling, quick)
    loaded = StoreEncoder(load(), pooling)
    if name != "":
        keep_quick(name, loaded.encoder, loaded.digest(), loaded.name)
    return loaded


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
