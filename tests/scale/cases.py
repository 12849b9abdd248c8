"""Cases for the tests of embedding corpora."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from turnlens.scale.output import MANIFEST

SHARD_SIZE = 10


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of an output, byte for byte."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))


def texts(folder: Path) -> list[str]:
    return pq.read_table(folder)["text"].to_pylist()
