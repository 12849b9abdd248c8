"""Vectors of texts kept on disk, so that a text that occurs again, in any file, is not embedded again."""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from turnlens._compat import datasets_cache
from turnlens.encoders.encoder import Encoder, as_conversational

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

MAX_BYTES = 1 << 30  # 650,000 vectors of 384 numbers
_KEYS_IN_QUERY = 500  # old versions of SQLite take no more than 999
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)"


class VectorCache:
    """The vectors of one encoder, in a file that many encoders share and that holds only hashes of the texts.

    Any number of processes may use the file at the same time, and any of them may be killed. If the file cannot be read
    or written, a warning says so and everything is embedded.

    Args:
        encoder: The encoder, as it is now. If it is trained further, it needs another `VectorCache`.
        path: The SQLite file; by default ``turnlens-vectors.sqlite`` in the cache directory of ``datasets``.
        max_bytes: When the file grows beyond this, the oldest quarter of the vectors is dropped.

    Raises:
        ValueError: The encoder is not a transformer with a fast tokenizer. Its vectors are then cheaper to compute than
            to keep, or it cannot be told what they depend on. See `can_be_cached`.
    """

    def __init__(
        self,
        encoder: Encoder | SentenceTransformer,
        path: str | os.PathLike[str] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        encoder = as_conversational(encoder)
        if not can_be_cached(encoder):
            raise ValueError("only vectors of a transformer with a fast tokenizer are kept: embed without a cache")
        self.path = Path(path) if path is not None else _usual_path()
        self.max_bytes = max_bytes
        self._digest = _hash(f"{encoder.weights_digest}\0{encoder.tokenizing}".encode()).hex()
        self._works = True

    def embed(self, embed: Callable[[list[str]], np.ndarray], texts: Sequence[str], kind: str = "") -> np.ndarray:
        """Embed the texts that are not in the file, keep their vectors, and return the vectors of all texts.

        Args:
            embed: Embeds n texts: float32 (n, dim).
            texts: Distinct texts, at least one.
            kind: What else the vectors depend on, such as a prompt.

        Returns:
            float32 (texts, dim)
        """
        keys = [_hash(f"{self._digest}\0{kind}\0{text}".encode("utf-8", "surrogatepass")) for text in texts]
        vectors = self._read(keys)
        missing = [row for row, key in enumerate(keys) if key not in vectors]
        if missing:
            new = {keys[row]: vector for row, vector in zip(missing, embed([texts[row] for row in missing]))}
            self._write(new)
            vectors.update(new)
        return np.stack([vectors[key] for key in keys])

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        cached: dict[bytes, np.ndarray] = {}

        def read(file: sqlite3.Connection) -> None:
            for start in range(0, len(keys), _KEYS_IN_QUERY):
                batch = keys[start : start + _KEYS_IN_QUERY]
                query = f"SELECT key, vector FROM vectors WHERE key IN ({', '.join('?' * len(batch))})"
                cached.update((key, np.frombuffer(vector, "<f4")) for key, vector in file.execute(query, batch))

        self._use(read)
        return cached

    def _write(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        rows = ((key, vector.astype("<f4").tobytes()) for key, vector in vectors.items() if np.isfinite(vector).all())

        def write(file: sqlite3.Connection) -> None:
            with file:  # all of them or, if the process is killed, none
                file.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
                self._forget_oldest(file)

        self._use(write)

    def _forget_oldest(self, file: sqlite3.Connection) -> None:
        size, pages, free = (
            file.execute(f"PRAGMA {fact}").fetchone()[0] for fact in ("page_size", "page_count", "freelist_count")
        )
        if size * (pages - free) > self.max_bytes:
            # Freed pages are used again, so the file does not grow.
            (count,) = file.execute("SELECT count(*) FROM vectors").fetchone()
            oldest = "SELECT rowid FROM vectors ORDER BY rowid LIMIT ?"
            file.execute(f"DELETE FROM vectors WHERE rowid IN ({oldest})", [-(-count // 4)])

    def _use(self, action: Callable[[sqlite3.Connection], None]) -> None:
        """Do something with the file, unless that has failed before."""
        if not self._works:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # A connection for each call, because none may be kept over a fork or used by another thread.
            with closing(sqlite3.connect(self.path, timeout=60)) as file:
                file.execute(_TABLE)
                action(file)
        except (sqlite3.Error, OSError) as error:
            self._works = False
            logging.getLogger("turnlens").warning(
                "%s cannot be used, so texts that were embedded before are embedded again (%s); if the file is "
                "damaged, delete it",
                self.path,
                error,
            )


def forget_vectors() -> Path:
    """Remove all vectors from the file where they are kept by default.

    Returns:
        The file.

    Raises:
        OSError: Another process has kept the file locked for a minute.
    """
    path = _usual_path()
    if path.is_file():
        try:
            with closing(sqlite3.connect(path, timeout=60)) as file:
                file.execute("DROP TABLE IF EXISTS vectors")
                file.execute("VACUUM")
        except sqlite3.OperationalError as error:
            raise OSError(
                f"{path} cannot be emptied ({error}): run the command again when nothing else uses it"
            ) from error
        except sqlite3.DatabaseError:  # it is damaged
            path.unlink()
    return path


def _usual_path() -> Path:
    return datasets_cache() / "turnlens-vectors.sqlite"


def can_be_cached(encoder: Encoder | SentenceTransformer) -> bool:
    """Return whether an encoder's vectors are worth a cache, and all that they depend on is known."""
    encoder = as_conversational(encoder)
    return encoder.width is not None and bool(encoder.tokenizing)


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
