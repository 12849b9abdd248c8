"""Candidate messages from files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from turnlens._utils.files import existing_file, is_standard
from turnlens.data.conversations import read_conversations
from turnlens.data.messages import distinct_texts
from turnlens.formats.input_files import standard_input

if TYPE_CHECKING:
    from datasets import Dataset


def read_candidates(path: str | os.PathLike[str], read: Callable[[Path], Dataset] = read_conversations) -> list[str]:
    """The distinct messages of a ``.txt`` file with one message per line, or of any file of conversations.

    Args:
        path: The file.
        read: Reads conversations.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: There are no messages, or the file cannot be read.
    """
    path = standard_input() if is_standard(path) else Path(path)
    if path.suffix == ".txt":
        existing_file(path, "candidates, a text file with one message a line")
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            raise ValueError(f"{path}: not UTF-8 text; save the file as UTF-8") from None
        candidates = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    else:
        candidates = distinct_texts(read(path))
    if not candidates:
        raise ValueError(f"{path}: found no message, expected one a line")
    return candidates
