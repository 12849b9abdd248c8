"""Files of facts and arrays with a checksum, which shows a changed byte that safetensors would read as a number."""

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

_ARRAY = "array:"  # in place of an array, its name


def save_checked(path: Path, facts: Mapping[str, Any], stamp: str = "") -> None:
    """Replace a file of facts, atomically: of JSON, in which dataclasses and arrays may stand anywhere.

    Args:
        path: The file.
        facts: Its facts; no mapping among them has the key ``array:``.
        stamp: A text that changes with all that the facts were computed from.
    """
    arrays: dict[str, np.ndarray] = {}

    def plain(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return vars(value)
        arrays[str(len(arrays))] = np.ascontiguousarray(value)
        return {_ARRAY: str(len(arrays) - 1)}

    text = json.dumps(facts, ensure_ascii=False, default=plain)
    with atomic_path(path) as temporary:
        save_file(arrays, temporary, metadata={"facts": text, "stamp": stamp, "sha256": _checksum(text, arrays)})


def load_checked(path: Path, stamp: str = "") -> dict[str, Any]:
    """Read the facts of a file that `save_checked` wrote, in which mappings stand for dataclasses.

    Raises:
        ValueError: The file is damaged, or has another stamp; then nothing else of it is read.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            kept = file.metadata() or {}
            if kept["stamp"] != stamp:
                raise ValueError("it was computed from something else")
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        if _checksum(kept["facts"], arrays) != kept.get("sha256"):
            raise ValueError("its content is not that of its checksum")
        return dict(json.loads(kept["facts"], object_hook=lambda own: arrays[own[_ARRAY]] if _ARRAY in own else own))
    except (SafetensorError, KeyError, TypeError) as error:
        raise ValueError(str(error)) from error


def _checksum(text: str, arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()
