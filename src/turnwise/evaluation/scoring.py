"""Cosine similarities from any function that embeds texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Embeds texts: list of n strings -> (n, dim). ``SentenceTransformer.encode`` is one.
Encode = Callable[[list[str]], Any]

# Rounding of a float64 cosine differs by the position of a row in its matrix (~1e-15). Without this, texts with equal
# embeddings would be ranked by where they stand in the data instead of counting as ties.
DECIMALS = 12


def percent(value: float) -> float:
    """A share in percent, without the noise in its last digits that could put a mean outside its interval."""
    return round(100 * value, 6)


def unit_embeddings(encode: Encode, texts: Sequence[str]) -> NDArray[np.float64]:
    """Embed each distinct text once and scale to length 1; a zero vector stays zero, so its cosine with anything is 0.

    Returns:
        (texts, dim)

    Raises:
        ValueError: The encoder returned something other than one finite vector per text.
    """
    row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    distinct = list(row_of)
    return unit_rows(encode(distinct), distinct)[[row_of[text] for text in texts]]


def unit_rows(embeddings: Any, names: Sequence[str]) -> NDArray[np.float64]:
    """Check what an encoder returned and scale it to length 1; a zero vector stays zero.

    Args:
        embeddings: (rows, dim)
        names: (rows,) what was embedded, for errors.

    Raises:
        ValueError: It is not one finite vector per row.
    """
    rows = np.asarray(embeddings, dtype=np.float64)
    if rows.ndim != 2 or len(rows) != len(names):
        raise ValueError(f"the encoder must return ({len(names)}, dim) numbers, got shape {rows.shape}")
    broken = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(broken):
        raise ValueError(f"the encoder returned nan or inf for {len(broken)} texts, first {names[broken[0]]!r}")
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1.0))


def cosines(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosines of unit vectors, ties exact: (n, dim) with (dim,) or with (n, dim) -> (n,)."""
    return np.asarray(np.round((left * right).sum(axis=1), DECIMALS))
