"""Tells whether an encoder's name is that of a folder, without the libraries that load encoders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


def encoder_folder(name_or_path: str | os.PathLike[str] | None) -> Path | None:
    """The folder of an encoder; ``None`` for a name on the Hub and for the default encoder.

    Raises:
        FileNotFoundError: ``name_or_path`` looks like a path, but there is no such folder.
    """
    if name_or_path is None:
        return None
    name = str(name_or_path)
    looks_like_path = name.startswith((".", "~", os.sep)) or name.count("/") > 1 or isinstance(name_or_path, Path)
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.exists() or looks_like_path:
        raise FileNotFoundError(f"{name}: expected the folder of a saved encoder (one that holds modules.json)")
    return None


def first_file(folder: str | os.PathLike[str], names: Sequence[str]) -> Path | None:
    """The first of these files that a folder holds; ``None`` if it holds none of them."""
    return next((path for name in names if (path := Path(folder) / name).is_file()), None)
