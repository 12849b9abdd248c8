"""Files of arrays and facts with a checksum, which shows a changed byte that safetensors would read as a number."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from turnlens._utils.files import atomic_path


def save_checked(path: Path, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Replace a file of facts, in JSON, and of arrays by their names, atomically."""
    text = json.dumps(facts, ensure_ascii=False)
    kept = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with atomic_path(path) as temporary:
        save_file(kept, temporary, metadata={"facts": text, "sha256": _checksum(text, kept)})


def load_checked(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the facts and the arrays of a file that `save_checked` wrote.

    Raises:
        ValueError: The file is damaged.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            kept = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        facts = json.loads(kept["facts"])
    except (SafetensorError, KeyError, TypeError) as error:
        raise ValueError(str(error)) from error
    if _checksum(kept["facts"], arrays) != kept.get("sha256"):
        raise ValueError("its content is not that of its checksum")
    return facts, arrays


def _checksum(text: str, arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()
