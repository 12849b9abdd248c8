"""The sample that groups are fitted to: the texts with the smallest hashes, which do not depend on the order.

So two corpora that share most of their texts also share most of their samples, and groups can be recognised when data
grows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np


def keys_of(texts: Iterable[str], seed: int) -> np.ndarray:
    """A hash of each text, uint64 (n,)."""
    salt = seed.to_bytes(8, "little", signed=True)
    digests = (
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, salt=salt).digest() for text in texts
    )
    return np.frombuffer(b"".join(digests), "<u8").copy()


def sample_rows(keys: np.ndarray, size: int, usable: np.ndarray) -> np.ndarray:
    """The first row of each of the smallest keys, in the order of the keys (size or fewer,).

    Args:
        keys: A hash of each row (n,).
        size: How many rows to choose.
        usable: Which rows may be taken (n,).
    """
    rows = np.flatnonzero(usable)
    _, first = np.unique(keys[rows], return_index=True)
    return rows[first[:size]]
