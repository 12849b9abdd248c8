"""Short hashes of everything that determines a result."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer

import turnlens
from turnlens.encoders.identity import encoder_source, weights_digest

# Libraries whose releases may change a figure.
_LIBRARIES = (
    "torch",
    "transformers",
    "sentence-transformers",
    "tokenizers",
    "numpy",
    "scipy",
    "scikit-learn",
    "bm25s",
    "gensim",
)


def digest(value: Any) -> str:
    """A hash of a JSON value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def versions() -> dict[str, str]:
    """The versions of turnlens and of the libraries it computes with, as far as they are installed."""
    installed = {"turnlens": turnlens.__version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed


def environment(encoder: SentenceTransformer) -> dict[str, Any]:
    """The software and the hardware of a run."""
    device = encoder.device.type
    shown = torch.cuda.get_device_name(encoder.device) if device == "cuda" else f"{device}, {platform.machine()}"
    return {**versions(), "encoder": encoder_source(encoder), "weights": weights_digest(encoder), "device": shown}


def conversations_digest(rows: Dataset) -> str:
    """A hash of all that conversations hold, labels included."""
    hasher = hashlib.blake2b(digest_size=10)
    for row in rows:
        hasher.update(json.dumps(row, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    return hasher.hexdigest()


def folder_digest(path: Path) -> str:
    """A hash of the files in a folder and the folders in it."""
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return digest({file.relative_to(path).as_posix(): file_digest(file) for file in files})


def file_digest(path: str | Path) -> str:
    """A hash of a file."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=10)).hexdigest()
