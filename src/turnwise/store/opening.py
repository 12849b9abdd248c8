"""Opening a store with an encoder, and making a new one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from turnwise._utils.files import is_url
from turnwise.store.state import StoreError, StoreState

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from turnwise.store.encoding import StoreEncoder

    Encoder: TypeAlias = SentenceTransformer | StoreEncoder | str | os.PathLike[str] | None


def store_encoder(encoder: Encoder, pooling: str) -> StoreEncoder:
    """The encoder as a store uses it; it is loaded if only its name is given."""
    # Imported only when an encoder is needed: without one, most of the time would go into loading its libraries.
    from turnwise.encoders.loading import as_encoder
    from turnwise.store.encoding import StoreEncoder

    if isinstance(encoder, StoreEncoder):
        return encoder
    return StoreEncoder(as_encoder(encoder), pooling)


def folder_of(path: str | os.PathLike[str]) -> Path:
    """The folder of a store.

    Raises:
        StoreError: It is a URL.
    """
    if is_url(path):
        raise StoreError(f"{path}: expected a folder on a disk, where a lock keeps a second writer out")
    return Path(path)


def other_encoder(path: Path, state: StoreState, name: str) -> StoreError:
    """The error for opening a store with another encoder than its own."""
    return StoreError(
        f"{path} holds vectors of {state.encoder} ({state.digest}), not of {name}: open it without naming an encoder, "
        "or move it to the other one with reindex"
    )
