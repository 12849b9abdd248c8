"""An index of vectors: a file beside the table that holds them once more, those that are alike next to each other.

The file is mapped into memory. A search of all its vectors costs one matrix product, and one of the cells that are
nearest to the query a small part of that. The table stays the truth: an index may lack rows, hold rows that were
deleted since, or be removed at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Self
from uuid import uuid4

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from turnlens._utils.vectors import unit_vectors
from turnlens.store.state import IndexFacts

_TRAINED_BY = 32  # vectors for each cell that k-means is fitted to
_ROUNDS = 10  # of k-means
_SAMPLE = 100  # queries that measure recall
_NEAREST = 10  # hits of each
_RECALL = 0.98
_ROUNDING = 1e-6
_CANDIDATES = 20  # at least so many vectors are compared for each hit that is asked for
_SCATTERED = 0.1  # a smaller share of the vectors is quicker picked out than multiplied with all others
VectorBatches = Callable[[], Iterator[tuple[np.ndarray, np.ndarray]]]  # ids (n,) and vectors (n, dim)


@dataclass(frozen=True)
class Cells:
    """Groups of vectors that are alike.

    Attributes:
        centroids: The mean of each cell, of length 1 (cells, dim).
        starts: The first row of each cell, and the number of rows (cells + 1,).
        probes: How many cells are searched.
    """

    centroids: np.ndarray
    starts: np.ndarray
    probes: int


@dataclass(frozen=True)
class VectorPart:
    """Some of the vectors of a column.

    Attributes:
        name: The name of their file; empty if they are only in memory.
        ids: The row id of each, distinct (n,).
        vectors: The vectors (n, dim).
        cells: Where vectors that are alike stand, if they are in that order.
        is_live: Which rows still count (n,); ``None`` if all do.
    """

    name: str
    ids: np.ndarray
    vectors: np.ndarray
    cells: Cells | None = None
    is_live: np.ndarray | None = None

    @classmethod
    def open(cls, folder: Path, facts: IndexFacts) -> Self | None:
        """The vectors of a file, mapped; ``None`` if it is missing or was damaged."""
        try:
            tables = load_file(folder / f"{facts.file}.safetensors")
            vectors = np.asarray(np.load(folder / f"{facts.file}.npy", mmap_mode="r"))
            cells = Cells(tables["centroids"], tables["starts"], facts.probes)
            fits = vectors.shape == (len(tables["ids"]), cells.centroids.shape[1]) and vectors.dtype == np.float32
            fits &= len(cells.starts) == len(cells.centroids) + 1 and cells.starts[-1] == len(vectors)
            return cls(facts.file, tables["ids"], vectors, cells) if fits else None
        except (OSError, ValueError, KeyError, IndexError, EOFError, SafetensorError):
            return None

    @cached_property
    def _order(self) -> np.ndarray:
        """The rows in the order of their ids."""
        return np.argsort(self.ids)

    @cached_property
    def sorted_ids(self) -> np.ndarray:
        """The ids, sorted."""
        return self.ids[self._order]

    def live_among(self, live: np.ndarray) -> tuple[Self, np.ndarray]:
        """These vectors without those whose rows were deleted, and the ids of rows that are not here.

        Args:
            live: The ids of the rows that count, sorted.
        """
        count = len(self.ids)
        if np.array_equal(live[:count], self.sorted_ids):  # nothing was deleted
            return (self if self.is_live is None else replace(self, is_live=None)), live[count:]
        is_live = np.isin(self.ids, live, assume_unique=True)
        left = live[~np.isin(live, self.ids, assume_unique=True)]
        return replace(self, is_live=None if is_live.all() else is_live), left

    def nearest(
        self, query: np.ndarray, count: int, allowed: np.ndarray | None, is_exact: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """The ids with the greatest inner products with a query, in no particular order, and these products.

        Args:
            query: The query (dim,).
            count: How many to return.
            allowed: The ids to choose from, sorted.
            is_exact: Search all vectors, not only the nearest cells.
        """
        rows: np.ndarray | None = None  # all of them
        if allowed is not None:
            rows = self._rows_of(allowed)
            is_scattered = len(rows) < _SCATTERED * len(self.ids)
            scores = self.vectors[rows] @ query if is_scattered else (self.vectors @ query)[rows]
        elif self.cells is None or is_exact:
            scores = self.vectors @ query
        else:
            spans = _spans(self.cells, query, count)
            rows = np.concatenate([np.arange(start, end) for start, end in spans])
            scores = np.concatenate([self.vectors[start:end] @ query for start, end in spans])
        ids = self.ids if rows is None else self.ids[rows]
        if self.is_live is not None:
            is_live = self.is_live if rows is None else self.is_live[rows]
            ids, scores = ids[is_live], scores[is_live]
        best = best_of(scores, count)
        return ids[best], scores[best]

    def _rows_of(self, ids: np.ndarray) -> np.ndarray:
        """The rows of those of some sorted ids that are here."""
        places = np.searchsorted(self.sorted_ids, ids)
        places, ids = places[places < len(self.ids)], ids[places < len(self.ids)]
        return np.sort(self._order[places[self.sorted_ids[places] == ids]])


def best_of(scores: np.ndarray, count: int) -> np.ndarray:
    """The places of the greatest scores, in no particular order."""
    return np.argpartition(-scores, count - 1)[:count] if len(scores) > count else np.arange(len(scores))


def write_index(folder: Path, name: str, ids: np.ndarray, batches: VectorBatches) -> IndexFacts:
    """Write an index, in memory that hardly grows with it. Nobody reads it before the store's state names it.

    Args:
        folder: Where it is written.
        name: The beginning of its name.
        ids: The ids of its rows, sorted (n,).
        batches: Gives all vectors of the table, from the beginning each time.
    """
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{uuid4().hex[:12]}"
    random = np.random.default_rng(0)
    cells = max(1, round(len(ids) ** 0.5))
    drawn = np.sort(random.choice(len(ids), min(len(ids), _TRAINED_BY * cells), replace=False))
    sample = unit_vectors(np.concatenate([vectors[np.isin(rows, drawn)] for rows, vectors in _placed(ids, batches)]))
    centroids = _centroids(sample, cells)
    queries = sample[random.choice(len(sample), min(_SAMPLE, len(sample)), replace=False)]

    cell_of = np.empty(len(ids), np.int32)
    for rows, vectors in _placed(ids, batches):
        cell_of[rows] = np.argmax(vectors @ centroids.T, axis=1)
    order = np.argsort(cell_of, kind="stable")
    starts = np.searchsorted(cell_of[order], np.arange(cells + 1))
    place = np.empty(len(ids), np.int64)
    place[order] = np.arange(len(ids))

    best = np.full((len(queries), _NEAREST), -np.inf, np.float32)  # of each query among all vectors
    with path.with_suffix(".npy").open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (len(ids), sample.shape[1])}
        np.lib.format.write_array_header_1_0(file, header)
        begin = file.tell()
        for rows, vectors in _placed(ids, batches):
            _write(file, begin, place[rows], vectors)
            scores = np.concatenate([best, queries @ vectors.T], axis=1)
            best = -np.partition(-scores, _NEAREST - 1, axis=1)[:, :_NEAREST]
    tables = {"ids": ids[order], "centroids": centroids, "starts": starts}
    save_file(tables, path.with_suffix(".safetensors"))
    return _measured(folder, IndexFacts(path.name, len(ids), probes=8, recall=0.0), queries, best)


def remove_others(folder: Path, names: set[str]) -> None:
    """Remove the files of all indexes but some."""
    for path in folder.glob("*"):
        if path.stem not in names:
            path.unlink(missing_ok=True)


def _placed(ids: np.ndarray, batches: VectorBatches) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The vectors with these ids, sorted, and the place of each among the ids."""
    for batch_ids, vectors in batches():
        rows = np.minimum(np.searchsorted(ids, batch_ids), len(ids) - 1)
        is_here = ids[rows] == batch_ids
        yield rows[is_here], vectors[is_here]


def _centroids(sample: np.ndarray, cells: int) -> np.ndarray:
    """The centres of groups of vectors of length 1, of length 1 (cells, dim)."""
    from sklearn.cluster import KMeans  # its import takes long, and searching needs none of it

    k_means = KMeans(cells, init="random", n_init=1, max_iter=_ROUNDS, random_state=0, copy_x=False)
    fitted = k_means.fit(sample)
    return np.ascontiguousarray(unit_vectors(fitted.cluster_centers_), np.float32)


def _write(file: BinaryIO, begin: int, places: np.ndarray, vectors: np.ndarray) -> None:
    """Write vectors (n, dim) at their places (n,); a mapping would count as memory of this process."""
    by_place = np.argsort(places)
    places, vectors = places[by_place], np.ascontiguousarray(vectors[by_place], np.float32)
    runs = [0, *(np.flatnonzero(np.diff(places) != 1) + 1).tolist(), len(places)]
    for start, end in pairwise(runs):
        if start < end:
            file.seek(begin + int(places[start]) * vectors[0].nbytes)
            file.write(vectors[start:end].data)


def _spans(cells: Cells, query: np.ndarray, count: int) -> list[tuple[int, int]]:
    """The rows of the cells nearest to a query: as many cells as recall needs, and enough vectors for the hits."""
    nearest = np.argsort(-(cells.centroids @ query))
    sizes = np.diff(cells.starts)[nearest]
    enough = int(np.searchsorted(np.cumsum(sizes), _CANDIDATES * count)) + 1
    chosen = np.sort(nearest[: max(cells.probes, enough)])
    return [(int(cells.starts[cell]), int(cells.starts[cell + 1])) for cell in chosen]


def _measured(folder: Path, facts: IndexFacts, queries: np.ndarray, best: np.ndarray) -> IndexFacts:
    """The facts with the fewest probes that find nearly all of the nearest vectors, whose scores are given."""
    # Scores are compared instead of rows, because either of two messages with the same text is correct.
    worst = best[np.arange(len(best)), np.argmin(best, axis=1)] - _ROUNDING
    cells = round(facts.rows**0.5)
    while True:
        shares = []
        for query, last in zip(queries, worst):
            part = VectorPart.open(folder, facts)  # mapped anew, so that little of it counts as memory
            scores = part.nearest(query, _NEAREST, None, is_exact=False)[1] if part is not None else np.zeros(0)
            shares.append(np.mean(np.sort(scores)[::-1][: len(best[0])] >= last))
        facts = replace(facts, recall=round(float(np.mean(shares)), 4))
        if facts.recall >= _RECALL or facts.probes >= cells:
            return facts
        facts = replace(facts, probes=2 * facts.probes)
