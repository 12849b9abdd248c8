"""A table of LanceDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from turnwise._utils.optional import require
from turnwise.store.conditions import Condition, sql_of
from turnwise.store.state import IndexFacts


@dataclass(frozen=True)
class LanceTable:
    """As `turnwise.store.backend.Table`.

    Attributes:
        inner: LanceDB's own.
    """

    inner: Any

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self.inner.schema

    def count_rows(self, where: Condition | None = None) -> int:
        """How many fulfil a condition."""
        return int(self.inner.count_rows(None if where is None else sql_of(where)))

    def rows(self, where: Condition, columns: Sequence[str]) -> pa.Table:
        """Those that fulfil a condition."""
        return self.inner.search().where(sql_of(where)).select(list(columns)).limit(self.count_rows()).to_arrow()

    def batches(self, columns: Sequence[str], rows: int = 8192) -> Iterator[pa.RecordBatch]:
        """All of them, in no particular order."""
        if count := self.count_rows():
            yield from self.inner.search().select(list(columns)).limit(count).to_batches(rows)

    def nearest(
        self,
        column: str,
        query: np.ndarray,
        where: Condition | None,
        count: int,
        columns: Sequence[str],
        index: IndexFacts | None = None,
    ) -> pa.Table:
        """Those with the greatest inner products, the best first, with these as ``score``."""
        # The metric must be that of the index: LanceDB compares with another one without an error.
        search = self.inner.search(np.asarray(query, np.float32), vector_column_name=column).distance_type("dot")
        search = search.limit(count).select([*columns, "_distance"])
        if where is not None:
            search = search.where(sql_of(where))
        if index is None:
            search = search.bypass_vector_index()
        else:
            # With a condition the nearest lists may not hold enough rows. Only then may all be looked at: LanceDB looks
            # at nearly all wherever it may.
            most = index.probes if where is None else 0
            search = search.minimum_nprobes(index.probes).maximum_nprobes(most)
            if index.refined:
                search = search.refine_factor(index.refined)
        found = search.to_arrow()
        scores = 1 - np.asarray(found["_distance"], np.float32)
        return found.drop_columns("_distance").append_column("score", pa.array(scores))

    def matching(self, text: str, where: Condition | None, count: int, columns: Sequence[str]) -> pa.Table:
        """Those whose texts share the words of a text, the best first, with BM25 as ``score``."""
        match = require("lancedb.query", "store").MatchQuery(text, "text")
        search = self.inner.search(match, query_type="fts").limit(count).select([*columns, "_score"])
        if where is not None:
            search = search.where(sql_of(where))
        found = search.to_arrow()
        return found.rename_columns(["score" if name == "_score" else name for name in found.column_names])

    def add(self, rows: pa.Table) -> None:
        """Add rows."""
        self.inner.add(rows)

    def delete(self, where: Condition) -> None:
        """Delete those that fulfil a condition."""
        self.inner.delete(sql_of(where))
