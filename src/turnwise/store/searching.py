"""Searches of one table: by vector, by text, and both fused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from turnwise._utils.optional import require
from turnwise.store.state import IndexFacts
from turnwise.store.tables import Tables

SMALLEST_INDEXED = 20_000  # vectors; below, an index hardly pays. Measured in docs/store.md.
_FUSION = 60  # k of reciprocal rank fusion (Cormack et al., SIGIR 2009)


def by_vector(
    table: Any,
    column: str,
    query: np.ndarray,
    where: str | None,
    count: int,
    columns: Sequence[str],
    index: IndexFacts | None = None,
) -> pa.Table:
    """The rows with the greatest inner products, the best first, with these as ``score``.

    Args:
        table: A table.
        column: The vectors.
        query: The query (dim,).
        where: A condition in SQL.
        count: How many.
        columns: What else to return.
        index: The index of the column; ``None`` looks at every row.
    """
    # The metric must be that of the index: LanceDB compares with another one without an error.
    search = table.search(np.asarray(query, np.float32), vector_column_name=column).distance_type("dot").limit(count)
    search = search.select([*columns, "_distance"])
    if where is not None:
        search = search.where(where)
    if index is None:
        search = search.bypass_vector_index()
    else:
        # With a condition the nearest lists may not hold enough rows. Only then may all be looked at: LanceDB looks at
        # nearly all wherever it may.
        most = index.probes if where is None else 0
        search = search.minimum_nprobes(index.probes).maximum_nprobes(most)
        if index.refined:
            search = search.refine_factor(index.refined)
    found = search.to_arrow()
    scores = 1 - np.asarray(found["_distance"], np.float32)
    return found.drop_columns("_distance").append_column("score", pa.array(scores))


def by_text(table: Any, text: str, where: str | None, count: int, columns: Sequence[str]) -> pa.Table:
    """The rows whose texts share the words of a text, the best first, with BM25 as ``score``."""
    match = require("lancedb.query", "store").MatchQuery(text, "text")
    search = table.search(match, query_type="fts").limit(count).select([*columns, "_score"])
    if where is not None:
        search = search.where(where)
    found = search.to_arrow()
    names = ["score" if name == "_score" else name for name in found.column_names]
    return found.rename_columns(names)


def fused(rankings: Sequence[pa.Table], count: int) -> pa.Table:
    """Rankings as one by reciprocal rank fusion: each row scores the sum of 1 / (60 + rank) over those it is in."""
    scores: dict[tuple[str, int], float] = {}
    for ranking in rankings:
        for rank, key in enumerate(zip(ranking["conversation"].to_pylist(), ranking["turn"].to_pylist()), start=1):
            scores[key] = scores.get(key, 0.0) + 1 / (_FUSION + rank)
    rows = pa.concat_tables([ranking.drop_columns("score") for ranking in rankings])
    keys = list(zip(rows["conversation"].to_pylist(), rows["turn"].to_pylist()))
    place = {key: row for row, key in reversed(list(enumerate(keys)))}
    best = sorted(scores, key=lambda key: (-scores[key], key))[:count]
    chosen = rows.take(pa.array([place[key] for key in best], pa.int64()))
    return chosen.append_column("score", pa.array([scores[key] for key in best], pa.float32()))


def index_for(tables: Tables, name: str, where: str | None) -> IndexFacts | None:
    """The index to use: none where so few rows fulfil the condition that looking at each is as quick, and exact."""
    index = tables.state.indexes.get(name)
    if index is None or where is None:
        return index
    table, _ = indexed_columns(tables)[name]
    return index if table.count_rows(where) >= SMALLEST_INDEXED else None


def indexed_columns(tables: Tables) -> dict[str, tuple[Any, str]]:
    """The indexes that there may be, and the table and column of each."""
    columns = {"vector": (tables.messages, "vector"), "conversation": (tables.conversations, "vector")}
    return {**columns, "reply": (tables.messages, "reply")} if tables.state.has_replies else columns
