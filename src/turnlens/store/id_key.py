"""The key of a store for pseudonyms of ids."""

from __future__ import annotations

import os

from turnlens._utils.files import load_or_create_key
from turnlens.errors import error_line
from turnlens.store.opening import folder_of
from turnlens.store.state import LOCK_SECONDS, not_permitted, writer_lock
from turnlens.store.tables import check_free

_FILE = "ids.key"


def id_key(path: str | os.PathLike[str]) -> bytes:
    """The key by which ids that hold personal data become pseudonyms in a store: see `turnlens.data.Redaction`.

    It is made when it is first needed, also for a store that is yet to be made.

    Raises:
        StoreError: The folder holds something other than a store, or this user must not read or write the key.
        ValueError: The key is damaged.
    """
    path = folder_of(path)
    file = path / _FILE
    try:
        if file.exists():
            return load_or_create_key(file)
        check_free(path)
        path.mkdir(parents=True, exist_ok=True)
        with writer_lock(path, LOCK_SECONDS):
            return load_or_create_key(file)
    except PermissionError as error:
        raise not_permitted(path, error_line(error)) from None
