"""The tables of a store, in LanceDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from turnwise._utils.optional import require
from turnwise.store.conditions import Condition, Raw, sql_of
from turnwise.store.damage import Stamp, naming_damage
from turnwise.store.state import IndexFacts, StoreState


@dataclass(frozen=True)
class LanceTable:
    """Rows of one kind: of messages, or of conversations.

    Attributes:
        inner: The LanceDB table.
        store: The folder of the store.
        stamp: The stamp of the commit that is read; ``None`` for writing.
    """

    inner: Any
    store: Path
    stamp: Stamp = None

    def _using(self, where: Condition | None = None) -> AbstractContextManager[None]:
        """Report damaged files as such; for errors in SQL that a user wrote, LanceDB's own message stays."""
        return naming_damage(self.store, self.stamp, (ValueError,) if isinstance(where, Raw) else ())

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        with self._using():
            return self.inner.schema

    def count_rows(self, where: Condition | None = None) -> int:
        """Count the rows that fulfil a condition."""
        with self._using(where):
            return int(self.inner.count_rows(None if where is None else sql_of(where)))

    def rows(self, where: Condition, columns: Sequence[str]) -> pa.Table:
        """The rows that fulfil a condition."""
        with self._using(where):
            query = self.inner.search().where(sql_of(where)).select(list(columns)).limit(self.count_rows())
            return _valid(query.to_arrow())

    def batches(self, columns: Sequence[str], rows: int = 8192) -> Iterator[pa.RecordBatch]:
        """All rows, in no particular order."""
        if count := self.count_rows():
            with self._using():
                batches = self.inner.search().select(list(columns)).limit(count).to_batches(rows)
            while True:
                with self._using():
                    batch = next(batches, None)
                    if batch is None:
                        return
                    _valid(batch)
                yield batch

    def nearest(
        self,
        column: str,
        query: np.ndarray,
        where: Condition | None,
        count: int,
        columns: Sequence[str],
        index: IndexFacts | None = None,
    ) -> pa.Table:
        """The rows whose vectors have the greatest inner products with a query, best first, as ``score``.

        Args:
            column: The column of vectors to compare with.
            query: The query (dim,).
            where: The condition that the rows must fulfil.
            count: The number of rows to return.
            columns: The further columns to return.
            index: The index of the column; with ``None`` every row is compared.
        """
        with self._using(where):
            search = self._nearest(column, query, where, index).limit(count).select([*columns, "_distance"])
            rows = _valid(search.to_arrow())
        scores = 1 - np.asarray(rows["_distance"], np.float32)
        return rows.drop_columns("_distance").append_column("score", pa.array(scores))

    def _nearest(self, column: str, query: np.ndarray, where: Condition | None, index: IndexFacts | None) -> Any:
        # The metric must be that of the index: with another one, LanceDB gives wrong results and no error.
        search = self.inner.search(np.asarray(query, np.float32), vector_column_name=column).distance_type("dot")
        if where is not None:
            search = search.where(sql_of(where))
        if index is None:
            search = search.bypass_vector_index()
        else:
            # With a condition, the nearest lists may not hold enough rows. Only then are all lists allowed, because
            # LanceDB searches nearly all of them whenever it may.
            most = index.probes if where is None else 0
            search = search.minimum_nprobes(index.probes).maximum_nprobes(most)
            if index.refined:
                search = search.refine_factor(index.refined)
        return search

    def matching(self, text: str, where: Condition | None, count: int, columns: Sequence[str]) -> pa.Table:
        """The rows whose texts share words with a text, best first, with BM25 as ``score``."""
        match = require("lancedb.query", "store").MatchQuery(text, "text")
        with self._using(where):
            search = self.inner.search(match, query_type="fts").limit(count).select([*columns, "_score"])
            if where is not None:
                search = search.where(sql_of(where))
            rows = _valid(search.to_arrow())
        return rows.rename_columns(["score" if name == "_score" else name for name in rows.column_names])

    def add(self, rows: pa.Table) -> None:
        """Add rows."""
        with self._using():
            self.inner.add(rows)

    def delete(self, where: Condition) -> None:
        """Delete the rows that fulfil a condition."""
        with self._using():
            self.inner.delete(sql_of(where))


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
