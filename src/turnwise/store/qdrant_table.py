"""A table of a store as a collection of Qdrant, with a point for each row; the point's id is derived from the row."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from turnwise._utils.optional import require
from turnwise.store.conditions import Condition
from turnwise.store.qdrant_filters import qdrant_filter
from turnwise.store.state import IndexFacts
from turnwise.store.words import query_weights, text_weights

_WORDS = "words"
_POINTS_AT_ONCE = 256
_NAMESPACE = uuid.UUID("5b0f3a52-9d3c-4f7e-8d40-3f1d2a6d7c11")  # chosen at random; it must never change


@dataclass(frozen=True)
class QdrantTable:
    """A `turnwise.store.backend.Table` in a collection of Qdrant.

    Attributes:
        client: Qdrant's client.
        collection: The name of the collection.
        schema: The columns.
    """

    client: Any
    collection: str
    schema: pa.Schema

    @property
    def _vectors(self) -> list[str]:
        return [field.name for field in self.schema if pa.types.is_fixed_size_list(field.type)]

    @property
    def _has_words(self) -> bool:
        return "turn" in self.schema.names

    def create(self, with_indexes: bool) -> None:
        """Create the collection, with indexes for filters if asked. An existing collection is replaced."""
        models = _models()
        self.client.delete_collection(self.collection)
        sizes = {name: self.schema.field(name).type.list_size for name in self._vectors}
        sparse = {_WORDS: models.SparseVectorParams(modifier=models.Modifier.IDF)} if self._has_words else None
        self.client.create_collection(
            self.collection,
            vectors_config={
                name: models.VectorParams(size=size, distance=models.Distance.DOT) for name, size in sizes.items()
            },
            sparse_vectors_config=sparse,
        )
        for name, kind in _indexes().items() if with_indexes else ():
            if name in self.schema.names:
                self.client.create_payload_index(self.collection, name, kind, wait=True)

    def count_rows(self, where: Condition | None = None) -> int:
        """Count the rows that fulfil a condition."""
        return int(self.client.count(self.collection, count_filter=_filter(where), exact=True).count)

    def rows(self, where: Condition, columns: Sequence[str]) -> pa.Table:
        """The rows that fulfil a condition."""
        return pa.Table.from_batches(self._scrolled(where, columns, 1024), self._part_of_schema(columns))

    def batches(self, columns: Sequence[str], rows: int = 8192) -> Iterator[pa.RecordBatch]:
        """All rows, in no particular order."""
        return self._scrolled(None, columns, rows)

    def _scrolled(self, where: Condition | None, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        place = None
        while True:
            vectors = [name for name in columns if name in self._vectors]
            points, place = self.client.scroll(
                self.collection, _filter(where), rows, offset=place, with_payload=list(columns), with_vectors=vectors
            )
            if points:
                yield from self._table(points, columns).to_batches()
            if place is None:
                return

    def nearest(
        self,
        column: str,
        query: np.ndarray,
        where: Condition | None,
        count: int,
        columns: Sequence[str],
        index: IndexFacts | None = None,
    ) -> pa.Table:
        """The rows with the greatest inner products, best first; Qdrant itself decides whether to use its index."""
        return self._ranked(np.asarray(query, np.float32).tolist(), column, where, count, columns)

    def matching(self, text: str, where: Condition | None, count: int, columns: Sequence[str]) -> pa.Table:
        """The rows whose texts share words with a text, best first, with BM25 as ``score``."""
        weights = query_weights(text)
        if not weights:
            return self._table([], columns, with_scores=True)
        sparse = _models().SparseVector(indices=list(weights), values=list(weights.values()))
        return self._ranked(sparse, _WORDS, where, count, columns)

    def _ranked(self, query: Any, using: str, where: Condition | None, count: int, columns: Sequence[str]) -> pa.Table:
        response = self.client.query_points(
            self.collection,
            query=query,
            using=using,
            query_filter=_filter(where),
            limit=count,
            with_payload=list(columns) or False,
            with_vectors=[name for name in columns if name in self._vectors],
        )
        return self._table(response.points, columns, with_scores=True)

    def add(self, rows: pa.Table) -> None:
        """Add rows; a row with the same id is replaced."""
        models = _models()
        others = [name for name in rows.column_names if name not in self._vectors]
        vectors = {name: rows[name].to_pylist() for name in self._vectors}
        points = []
        for number, payload in enumerate(rows.select(others).to_pylist()):
            of_row: dict[str, Any] = {name: column[number] for name, column in vectors.items()}
            if self._has_words:
                weights = text_weights(payload["text"])
                of_row[_WORDS] = models.SparseVector(indices=list(weights), values=list(weights.values()))
            said = {name: _storable(value) for name, value in payload.items()}
            points.append(models.PointStruct(id=_point_id(payload), vector=of_row, payload=said))
        for start in range(0, len(points), _POINTS_AT_ONCE):
            self.client.upsert(self.collection, points[start : start + _POINTS_AT_ONCE], wait=True)

    def delete(self, where: Condition) -> None:
        """Delete the rows that fulfil a condition."""
        self.client.delete(self.collection, _models().FilterSelector(filter=qdrant_filter(where)), wait=True)

    def _part_of_schema(self, columns: Sequence[str]) -> pa.Schema:
        return pa.schema([self.schema.field(name) for name in columns])

    def _table(self, points: Sequence[Any], columns: Sequence[str], with_scores: bool = False) -> pa.Table:
        arrays = []
        for field in self._part_of_schema(columns):
            if field.name in self._vectors:
                values: list[Any] = [point.vector[field.name] for point in points]
            else:
                values = [point.payload.get(field.name) for point in points]
            if pa.types.is_timestamp(field.type):
                values = [None if value is None else datetime.fromisoformat(value) for value in values]
            arrays.append(pa.array(values, field.type))
        table = pa.Table.from_arrays(arrays, schema=self._part_of_schema(columns))
        if not with_scores:
            return table
        return table.append_column("score", pa.array([point.score for point in points], pa.float32()))


def _indexes() -> dict[str, Any]:
    """The indexes of the columns that filters may name."""
    models = _models()
    kinds = models.PayloadSchemaType
    words = models.TextIndexParams(type="text", phrase_matching=True, lowercase=True)
    keywords = dict.fromkeys(("conversation", "role", "speakers", "labels"), kinds.KEYWORD)
    numbers = dict.fromkeys(("turn", "turns"), kinds.INTEGER)
    times = dict.fromkeys(("time", "first_time", "last_time"), kinds.DATETIME)
    return {**keywords, **numbers, **times, "text": words}


def _point_id(row: dict[str, Any]) -> str:
    """The id of a row's point, made from the conversation's id and, for a message, its turn."""
    return str(uuid.uuid5(_NAMESPACE, f"{row.get('turn', '')}\0{row['conversation']}"))


def _storable(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _filter(where: Condition | None) -> Any:
    return None if where is None else qdrant_filter(where)


def _models() -> Any:
    return require("qdrant_client.models", "qdrant")
