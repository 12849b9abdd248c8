"""A random key, kept in a private file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from secrets import token_bytes

_BYTES = 32


def kept_key(path: Path) -> bytes:
    """The key in a file, which is made if it is missing; only its owner may read it.

    Callers hold a lock while it may be missing, so that no two processes make different keys.

    Raises:
        ValueError: The file holds something else.
    """
    if not path.exists():
        descriptor, new = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # which is private
        with os.fdopen(descriptor, "wb") as file:
            file.write(token_bytes(_BYTES))
        Path(new).replace(path)
    key = path.read_bytes()
    if len(key) != _BYTES:
        raise ValueError(f"{path}: found {len(key)} bytes; expected a key of {_BYTES}: copy it back from a backup")
    return key
