"""The members of a group: the most and the least typical ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from turnlens._utils.vectors import FloatArray, IntArray

SHOWN = 10
_ROWS_AT_ONCE = 65536
_LOOKED_AT = 50  # times as many members as are shown, in order to find distinct texts
_SHARED = 0.6  # of the words of a text are in another: they show the same
_LEAST_SHARED = 4  # words
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Members:
    """The most and least typical rows of a group.

    Attributes:
        size: The number of its rows.
        central: The rows most similar to the group's mean, the most typical first.
        edge: The rows least similar to it, the least typical first.
    """

    size: int
    central: tuple[int, ...]
    edge: tuple[int, ...]


def members_of(vectors: FloatArray, groups: IntArray, texts: Sequence[str]) -> dict[int, Members]:
    """The members of each group, by its id.

    Args:
        vectors: The vectors, of length 1, perhaps memory-mapped (n, dim).
        groups: The id of each vector's group, -1 for none (n,).
        texts: The texts (n); of those that share most of their words, one is shown.
    """
    ids, places = np.unique(groups, return_inverse=True)
    cosines = _with_centroids(vectors, places, len(ids))
    order = np.lexsort((-cosines, places))
    ends = np.cumsum(np.bincount(places, minlength=len(ids)))
    members = {}
    for id, start, end in zip(ids.tolist(), [0, *ends[:-1].tolist()], ends.tolist()):
        if id >= 0:
            rows = order[start:end]
            members[id] = Members(end - start, _distinct(rows, texts), _distinct(rows[::-1], texts))
    return members


def _with_centroids(vectors: FloatArray, places: IntArray, groups: int) -> FloatArray:
    """The inner product of each vector with the sum of the vectors in its group (n,)."""
    sums = np.zeros((groups, vectors.shape[1]))
    blocks = [slice(start, start + _ROWS_AT_ONCE) for start in range(0, len(vectors), _ROWS_AT_ONCE)]
    for block in blocks:
        rows = np.arange(len(places[block]))
        members = sparse.csr_matrix((np.ones(len(rows)), (places[block], rows)), (groups, len(rows)))
        sums += members @ vectors[block]
    means = (sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)).astype(np.float32)
    products = [np.einsum("nd,nd->n", vectors[block], means[places[block]]) for block in blocks]
    return np.concatenate(products) if products else np.zeros(0, np.float32)


def _distinct(rows: IntArray, texts: Sequence[str]) -> tuple[int, ...]:
    shown: dict[int, frozenset[str]] = {}
    for row in rows[: SHOWN * _LOOKED_AT].tolist():
        words = frozenset(_WORD.findall(texts[row].casefold())) or frozenset([texts[row]])
        if not any(_repeats(words, other) for other in shown.values()):
            shown[row] = words
            if len(shown) == SHOWN:
                break
    return tuple(shown)


def _repeats(words: frozenset[str], other: frozenset[str]) -> bool:
    """Return true if two texts have the same words, or most words of the shorter are in the other."""
    least = max(_LEAST_SHARED, _SHARED * min(len(words), len(other)))
    return words == other or len(words & other) >= least
