"""Searching the vectors of a table at one version: those of its indexes, and what is newer in memory."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from turnlens.store.state import IndexFacts
from turnlens.store.vector_index import VectorPart, best_of

if TYPE_CHECKING:
    from turnlens.store.lance_table import LanceTable

_MOST_IN_MEMORY = 200_000  # vectors; if more are in no index, LanceDB searches them

Parts = list[VectorPart]


class VectorSearch:
    """The vectors of a table at one version, loaded when they are first searched; threads may share it.

    Args:
        folder: The folder of the indexes.
        indexes: The indexes of each column.
        former: What was loaded of an earlier version, by column.
    """

    def __init__(
        self, folder: Path, indexes: Mapping[str, Sequence[IndexFacts]], former: Mapping[str, Parts | None]
    ) -> None:
        self._folder = folder
        self._indexes = indexes
        self._former = former
        self._loaded: dict[str, Parts | None] = {}
        self._lock = threading.Lock()

    def loaded(self) -> dict[str, Parts | None]:
        """The parts of this version that the next one may use."""
        return {**self._former, **self._loaded}

    def nearest(
        self, table: LanceTable, column: str, query: np.ndarray, count: int, allowed: np.ndarray | None, is_exact: bool
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """The ids with the greatest inner products with a query, best first, and these products.

        Args:
            table: The table.
            column: The column of vectors to compare with.
            query: The query (dim,).
            count: How many to return.
            allowed: The ids to choose from, sorted.
            is_exact: Search all vectors, not only the nearest cells of indexes.

        Returns:
            ``None`` if there are too many vectors outside indexes to hold them in memory.
        """
        with self._lock:
            if column not in self._loaded:
                self._loaded[column] = self._load(table, column)
        parts = self._loaded[column]
        if parts is None:
            return None
        query = np.asarray(query, np.float32)
        found = [part.nearest(query, count, allowed, is_exact) for part in parts]
        ids = np.concatenate([np.zeros(0, np.uint64), *(ids for ids, _ in found)])
        scores = np.concatenate([np.zeros(0, np.float32), *(scores for _, scores in found)])
        best = best_of(scores, count)
        best = best[np.lexsort((ids[best], -scores[best]))]
        return ids[best], scores[best]

    def _load(self, table: LanceTable, column: str) -> Parts | None:
        former = {part.name: part for part in self._former.get(column) or ()}
        left, parts = table.row_ids(table.with_text), []
        for facts in self._indexes.get(column, ()):
            part = former.get(facts.file) or VectorPart.open(self._folder, facts)
            if part is not None:
                part, left = part.live_among(left)
                parts.append(part)
        if len(left) > _MOST_IN_MEMORY:
            return None
        if len(left):
            parts.append(_in_memory(table, column, left, former.get("")))
        return parts


def _in_memory(table: LanceTable, column: str, ids: np.ndarray, former: VectorPart | None) -> VectorPart:
    """The vectors with these ids, read from the table unless they were before."""
    if former is None:
        return VectorPart("", *table.vectors(column, ids))
    is_kept = np.isin(former.ids, ids, assume_unique=True)
    kept, vectors = former.ids[is_kept], former.vectors[is_kept]
    missing = ids[~np.isin(ids, kept, assume_unique=True)]
    if len(missing):
        new, read = table.vectors(column, missing)
        kept, vectors = np.concatenate([kept, new]), np.concatenate([vectors, read])
    return VectorPart("", kept, vectors)
