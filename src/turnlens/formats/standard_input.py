"""The standard input as a file, so that it can be looked at before it is read, and read more than once."""

from __future__ import annotations

import gzip
import re
import shutil
import sys
import tempfile
import zlib
from functools import cache
from pathlib import Path
from typing import TextIO

from turnlens.errors import ConversationError
from turnlens.formats import FORMATS
from turnlens.formats.format import Head
from turnlens.formats.text_encoding import utf16_of

_LOOKED_AT = 1 << 16


def standard_input() -> Path:
    """A temporary file with the bytes of the standard input, its ending as they look; it goes with the process.

    Raises:
        ConversationError: It is a terminal, or empty.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise ConversationError("-", "the standard input is a terminal; pipe or redirect conversations into it")
    return _spooled(sys.stdin)


def is_spooled(path: Path) -> bool:
    """Whether a file holds the standard input."""
    return path.parent == Path(_folder().name)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="turnlens-")  # of this user only, and removed at exit


@cache
def _spooled(stream: TextIO) -> Path:
    folder = Path(_folder().name)
    path = folder / "incoming"
    with path.open("wb") as file:
        shutil.copyfileobj(stream.buffer, file)
    with path.open("rb") as file:
        head = file.read(_LOOKED_AT)
    if not head:
        raise ConversationError("-", "the standard input is empty; expected conversations")
    number = sum(1 for _ in folder.iterdir())
    return path.rename(folder / f"stdin{number if number > 1 else ''}{ending_of(head)}")


def ending_of(head: bytes) -> str:
    """The ending that a file with these first bytes should have."""
    if head.startswith(b"\x1f\x8b"):
        try:
            return f"{ending_of(zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, _LOOKED_AT))}.gz"
        except (zlib.error, gzip.BadGzipFile):
            return ".jsonl.gz"
    if head.startswith(b"PAR1"):
        return ".parquet"
    if head.startswith(b"PK\x03\x04"):
        return ".xlsx" if b"[Content_Types].xml" in head or b"xl/" in head else ".zip"
    text = head.decode(utf16_of(head) or "utf-8-sig", "replace").lstrip()
    lines = tuple(line for line in text.splitlines() if not line.isspace() and line)
    if re.match(r"\{|\[\s*[\[{\]]", text):  # one value over many lines, or one on each
        are_lines = lines[0].rstrip().endswith("}" if text[0] == "{" else "]") and (text[0] == "{" or len(lines) > 1)
        return ".jsonl" if are_lines else ".json"
    if not lines or any(known.matches(Head(lines=lines)) for known in FORMATS.values()):
        return ".txt"
    if "\t" in lines[0]:
        return ".tsv"
    return ".csv" if "," in lines[0] or ";" in lines[0] else ".txt"
