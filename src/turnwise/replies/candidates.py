"""Candidate messages from files, and their embeddings kept in a file that is mapped instead of read."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from turnwise._utils.files import atomic_path, existing_file, is_standard
from turnwise._utils.texts import listed
from turnwise.data.conversations import read_conversations
from turnwise.data.messages import distinct_texts
from turnwise.data.reading.standard_input import standard_input
from turnwise.replies.reply_model import ReplyModel

if TYPE_CHECKING:
    from datasets import Dataset

_ROUNDING = 2e-3  # more than the rounding of a component in half precision


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


def candidate_embeddings(
    model: ReplyModel, candidates: list[str], path: str | os.PathLike[str], half: bool = False
) -> np.ndarray:
    """Embeddings of candidates, computed once and afterwards mapped from a file.

    Args:
        model: The model.
        candidates: The messages.
        path: A ``.npy`` file, written if it is missing. Beside it, ``<path>.blake2b`` identifies the candidates.
        half: Write float16: half the size, scores accurate to about three digits.

    Returns:
        (len(candidates), dim), memory-mapped.

    Raises:
        ValueError: The file belongs to other candidates or another model.
    """
    path, candidates = Path(path), listed(candidates, "candidates")
    if path.suffix != ".npy":
        raise ValueError(f"{path}: expected a name ending in .npy")
    note = path.with_name(f"{path.name}.blake2b")
    digest = hashlib.blake2b(json.dumps(candidates).encode(), digest_size=16).hexdigest()
    if not path.exists():
        embeddings = model.encode_candidates(candidates, show_progress_bar=True)
        with atomic_path(note) as temporary:
            temporary.write_text(digest, encoding="utf-8")
        with atomic_path(path) as temporary:
            np.save(temporary, embeddings.astype(np.float16 if half else np.float32))
    elif not note.exists() or note.read_text(encoding="utf-8") != digest:
        raise ValueError(f"{path} holds embeddings of other candidates: delete it or name another file")
    mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    first = model.encode_candidates(candidates[:1])
    expected = (len(candidates), first.shape[1])
    if mapped.shape != expected:
        raise ValueError(f"{path} holds an array of shape {mapped.shape}, expected {expected}: delete it")
    if not np.allclose(mapped[0], first[0], atol=_ROUNDING):
        raise ValueError(f"{path} holds embeddings of another model: delete it or name another file")
    return mapped
