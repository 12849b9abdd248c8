"""Cosines from any function that embeds texts, and the queries that are sampled for a task."""

from __future__ import annotations

import logging
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
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


_SHOWN = 3  # pairs of labels in a warning


def sample_queries(count: int, wanted: int | None, seed: int) -> list[int]:
    """The first ``wanted`` of a random order, sorted, so that a larger sample contains every smaller one."""
    if wanted is not None and wanted < 1:
        raise ValueError(f"max_queries must be 1 or more, got {wanted}")
    return sorted(np.random.default_rng(seed).permutation(count)[:wanted].tolist())


def warn_of_left_out(count: int, total: int, kind: str) -> None:
    """Log how many of the rows of an evaluation say nothing about an encoder and are left out, if any."""
    if count:
        logging.getLogger("turnlens").warning("left out of the evaluation: %d %s, of %d", count, kind, total)


@lru_cache  # several tasks of one evaluation have the same labels
def warn_of_alike(labels: frozenset[str]) -> None:
    """Log which labels differ only in capitals, blanks or punctuation, if any: they may be meant to be one."""
    spellings = defaultdict(list)
    for label in sorted(labels):
        spellings[_words(label)].append(label)
    pairs = [f"{found[0]!r} and {found[1]!r}" for words, found in spellings.items() if words and len(found) > 1]
    if pairs:
        more = f", and {len(pairs) - _SHOWN} more" if len(pairs) > _SHOWN else ""
        logging.getLogger("turnlens").warning(
            "labels that differ only in capitals, blanks or punctuation count as different labels: %s%s",
            ", ".join(pairs[:_SHOWN]),
            more,
        )


def _words(label: str) -> str:
    """Return a label without capitals and punctuation; nothing of one without letters, such as ``-1``."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", label).casefold())
    return " ".join(words) if any(map(str.isalpha, label)) else ""
