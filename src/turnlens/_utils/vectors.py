"""Arrays of vectors: their types, scaling to length 1, and embedding distinct things once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

# Encoders give float32; scores and metrics are float64.
FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_Item = TypeVar("_Item", bound=Hashable)


class Vectors(Protocol):
    """Vectors (n, dim) that are made or read as rows of them are taken; an array of them is the simplest."""

    def __len__(self) -> int: ...
    def __getitem__(self, rows: Any, /) -> Any: ...


def unit_vectors(vectors: FloatArray) -> FloatArray:
    """Vectors (..., dim) scaled to length 1; zero stays zero."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1))


def embed_distinct(embed: Callable[[list[_Item]], Any], items: Sequence[_Item]) -> NDArray[Any]:
    """Embed each distinct item once and give every item its row.

    Args:
        embed: Embeds a list of n items: (n, dim). It is called once, with the distinct items in order of appearance.
        items: The items.

    Returns:
        (items, dim)
    """
    row_of = {item: row for row, item in enumerate(dict.fromkeys(items))}
    return np.asarray(embed(list(row_of)))[[row_of[item] for item in items]]
