"""Cosine similarities from any function that embeds texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from turnlens._utils.vectors import FloatArray, embed_distinct, unit_vectors

# Embeds texts: list of n strings -> (n, dim). ``SentenceTransformer.encode`` is one.
Encode = Callable[[list[str]], Any]

# The rounding of a float64 cosine depends on the position of a row in its matrix (~1e-15). Without this, texts with
# equal embeddings would be ranked by their position in the data instead of counting as ties.
DECIMALS = 12


def percent(value: float) -> float:
    """A share in percent, rounded so that noise in its last digits cannot put a mean outside its interval."""
    return round(100 * value, 6)


def unit_embeddings(encode: Encode, texts: Sequence[str]) -> FloatArray:
    """Embed each distinct text once and scale to length 1; a zero vector stays zero, so its cosine with anything is 0.

    Returns:
        (texts, dim)

    Raises:
        ValueError: The encoder returned something other than one finite vector per text.
    """
    return embed_distinct(lambda distinct: unit_rows(encode(distinct), distinct), texts)


def unit_rows(embeddings: Any, names: Sequence[str]) -> FloatArray:
    """Check what an encoder returned and scale it to length 1; a zero vector stays zero.

    Args:
        embeddings: (rows, dim)
        names: (rows,) what was embedded, for errors.

    Returns:
        (rows, dim), float64.

    Raises:
        ValueError: It is not one finite vector per row.
    """
    rows = np.asarray(embeddings, dtype=np.float64)
    if rows.ndim != 2 or len(rows) != len(names):
        raise ValueError(f"the encoder must return ({len(names)}, dim) numbers, got shape {rows.shape}")
    broken = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(broken):
        raise ValueError(f"the encoder returned nan or inf for {len(broken)} texts, first {names[broken[0]]!r}")
    return unit_vectors(rows)


def cosines(left: FloatArray, right: FloatArray) -> FloatArray:
    """Cosines of unit vectors, ties exact: (n, dim) with (dim,) or with (n, dim) -> (n,)."""
    return np.asarray(np.round((left * right).sum(axis=1), DECIMALS))
