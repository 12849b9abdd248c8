"""Writing rows as an Arrow file or table in batches, even if new labels appear on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from turnlens.errors import ConversationError

_ROWS_IN_BATCH = 1000
_MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
_SCHEMA = pa.schema([("id", pa.string()), ("messages", pa.list_(_MESSAGE))])


def write_arrow(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Write conversations as an Arrow stream. Columns: id, messages, then labels as they turn up."""
    parts = _Parts(path)
    try:
        with _one_type_each():
            for table in _tables(rows):
                parts.write(table)
    finally:
        parts.close()
    if len(parts.paths) == 1:
        parts.paths[0].rename(path)
        return
    # Labels that turned up late are missing from the earlier parts.
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, parts.schema) as writer:
        for part in parts.paths:
            for table in _batches(part):
                writer.write_table(_unified(parts.schema, table))
            part.unlink()


def arrow_table(rows: Iterable[dict[str, Any]]) -> pa.Table:
    """Conversations as an Arrow table in memory, with the same columns as `write_arrow`."""
    with _one_type_each():
        return pa.concat_tables([_SCHEMA.empty_table(), *_tables(rows)], promote_options="permissive")


@contextmanager
def _one_type_each() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ConversationError("labels", f"a label has values that fit no common type: {error}") from None


class _Parts:
    """One Arrow stream for each schema met."""

    def __init__(self, path: Path) -> None:
        self.schema = _SCHEMA
        self.paths: list[Path] = []
        self._path = path
        self._writer: Any = None

    def write(self, table: Any) -> None:
        table = _unified(self.schema, table)
        if self._writer is None or table.schema != self.schema:
            self.close()
            self.schema = table.schema
            self.paths.append(self._path.with_suffix(f".part{len(self.paths)}"))
            self._writer = pa.ipc.new_stream(str(self.paths[-1]), self.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _tables(rows: Iterable[dict[str, Any]]) -> Iterator[Any]:
    iterator = iter(rows)
    while batch := list(islice(iterator, _ROWS_IN_BATCH)):
        yield _table(batch)


def _table(batch: list[dict[str, Any]]) -> Any:
    names = dict.fromkeys(name for row in batch for name in row)
    return pa.table({name: pa.array([row.get(name) for row in batch]) for name in names})


def _unified(schema: Any, table: Any) -> Any:
    """The table with the columns and message labels of ``schema`` first and its own new ones after them."""
    return pa.concat_tables([schema.empty_table(), table], promote_options="permissive").combine_chunks()


def _batches(path: Path) -> Iterator[Any]:
    with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as reader:
        for batch in reader:
            yield pa.Table.from_batches([batch])
