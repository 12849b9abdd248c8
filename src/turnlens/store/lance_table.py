"""The tables of a store, in LanceDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from turnlens.store.filters import SQL
from turnlens.store.records import vectors_of
from turnlens.store.state import Stamp, StoreState, naming_damage
from turnlens.store.vector_search import VectorSearch

Ranking = tuple[np.ndarray, np.ndarray]  # LanceDB's ids of rows, the best first, uint64 (n,), and their scores (n,)


@dataclass(frozen=True)
class LanceTable:
    """Rows of one kind: of messages, or of conversations.

    Attributes:
        inner: The LanceDB table.
        store: The folder of the store.
        stamp: The stamp of the commit that is read; ``None`` for writing.
        search: Searches its vectors; ``None`` for writing.
        pristine: For writing, a file that is there as long as no row was ever deleted from the tables.
    """

    inner: Any
    store: Path
    stamp: Stamp = None
    search: VectorSearch | None = None
    pristine: Path | None = None

    def _using(self, where: str | None = None) -> AbstractContextManager[None]:
        """Report damaged files as such; for errors in SQL that a user wrote, LanceDB's own message stays."""
        return naming_damage(self.store, self.stamp, (ValueError,) if isinstance(where, SQL) else ())

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        with self._using():
            return self.inner.schema

    @cached_property
    def with_text(self) -> str:
        """The condition for rows that vectors find: a message without text is like no other."""
        return "tokens > 0" if "tokens" in self.schema.names else "true"

    def count_rows(self, where: str | None = None) -> int:
        """Count the rows that fulfil a condition."""
        with self._using(where):
            return int(self.inner.count_rows(where))

    def rows(self, where: str, columns: Sequence[str]) -> pa.Table:
        """The rows that fulfil a condition."""
        with self._using(where):
            query = self.inner.search().where(where).select(list(columns)).with_row_id("_rowid" in columns)
            return _valid(query.limit(self.count_rows()).to_arrow())

    def batches(self, columns: Sequence[str], rows: int = 8192) -> Iterator[pa.RecordBatch]:
        """All rows, in no particular order."""
        if count := self.count_rows():
            with self._using():
                search = self.inner.search().select(list(columns)).with_row_id("_rowid" in columns)
                batches = search.limit(count).to_batches(rows)
            while True:
                with self._using():
                    batch = next(batches, None)
                    if batch is None:
                        return
                    _valid(batch)
                yield batch

    def nearest(self, column: str, query: np.ndarray, where: str | None, count: int, is_exact: bool = False) -> Ranking:
        """The rows whose vectors have the greatest inner products with a query, best first.

        Args:
            column: The column of vectors to compare with.
            query: The query (dim,).
            where: The condition that the rows must fulfil. With one, all vectors of these rows are compared.
            count: The number of rows to return.
            is_exact: Compare all vectors, even where there is an index.
        """
        allowed = None if where is None else self.row_ids(where)
        nearest = None
        if self.search is not None:
            nearest = self.search.nearest(self, column, query, count, allowed, is_exact)
        return self._scanned(column, query, where, count) if nearest is None else nearest

    def _scanned(self, column: str, query: np.ndarray, where: str | None, count: int) -> Ranking:
        """Find what `nearest` does by LanceDB, which reads all vectors for it."""
        where = self.with_text if where is None else type(where)(f"({where}) AND {self.with_text}")
        with self._using(where):
            search = self.inner.search(np.asarray(query, np.float32), vector_column_name=column).distance_type("dot")
        ids, distances = self._ranking(search.bypass_vector_index(), where, count, "_distance")
        return ids, 1 - distances

    def matching(self, text: str, where: str | None, count: int) -> Ranking:
        """The rows whose texts share words with a text, best first, with BM25."""
        from lancedb.query import MatchQuery

        match = MatchQuery(text, "text")
        with self._using(where):
            search = self.inner.search(match, query_type="fts")
        return self._ranking(search, where, count, "_score")

    def _ranking(self, search: Any, where: str | None, count: int, score: str) -> Ranking:
        with self._using(where):
            search = search if where is None else search.where(where)
            rows = search.limit(count).with_row_id(True).select([score]).to_arrow()
        return np.asarray(rows["_rowid"], np.uint64), np.asarray(rows[score], np.float32)

    def ranked(self, ranking: Ranking, columns: Sequence[str]) -> pa.Table:
        """The rows of a ranking in its order, with their ``score``."""
        ids, scores = ranking
        rows = self._taken(ids, columns)
        order = np.argsort(ids)[np.searchsorted(np.sort(ids), np.asarray(rows["_rowid"]))]  # places in the ranking
        rows = rows.append_column("score", pa.array(scores[order])).take(pa.array(np.argsort(order)))
        return rows.select([*columns, "score"])

    def row_ids(self, where: str | None = None) -> np.ndarray:
        """LanceDB's ids of the rows that fulfil a condition, sorted."""
        with self._using(where):
            search = self.inner.search().select(["_rowid"]).with_row_id(True).limit(max(1, self.count_rows()))
            ids = (search if where is None else search.where(where)).to_arrow()["_rowid"]
        return np.sort(np.asarray(ids, np.uint64))

    def vectors(self, column: str, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The vectors of the rows with some ids (n, dim), and the ids in their order (n,)."""
        rows = self._taken(ids, [column])
        return np.asarray(rows["_rowid"], np.uint64), vectors_of(rows[column])

    def vector_batches(self, column: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The ids of all rows (n,) and their vectors (n, dim), some at a time."""
        for batch in self.batches([column, "_rowid"]):
            yield np.asarray(batch["_rowid"], np.uint64), vectors_of(pa.chunked_array([batch[column]]))

    def _taken(self, ids: np.ndarray, columns: Sequence[str]) -> pa.Table:
        """The rows with some ids, in no particular order, and these ids as ``_rowid``."""
        with self._using():
            if not len(ids):
                return self.inner.search().select(list(columns)).with_row_id(True).limit(1).to_arrow().slice(0, 0)
            return _valid(self.inner.take_row_ids(ids.tolist()).select(list(columns)).with_row_id().to_arrow())

    def add(self, rows: pa.Table) -> None:
        """Add rows."""
        with self._using():
            self.inner.add(rows)

    def delete(self, where: str) -> None:
        """Delete the rows that fulfil a condition."""
        if not self.count_rows(where):
            return
        if self.pristine is not None:
            self.pristine.unlink(missing_ok=True)
        with self._using():
            self.inner.delete(where)


@dataclass(frozen=True)
class Tables:
    """The two tables of a store.

    Attributes:
        state: The state of the store.
        messages: A row for each message.
        conversations: A row for each conversation.
    """

    state: StoreState
    messages: LanceTable
    conversations: LanceTable


def _valid(rows: pa.Table) -> pa.Table:
    """The rows, after a check of their texts: a damaged file may give bytes that are not valid text."""
    rows.validate(full=True)
    return rows
