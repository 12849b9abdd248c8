"""Writing embeddings: one Parquet or CSV file, an array beside JSON lines, or JSON lines alone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from turnlens._utils.files import atomic_path, check_file, is_standard
from turnlens._utils.text_values import strict_json, without_formulas
from turnlens.formats.input_files import check_apart

_VECTOR = "vector"
_ROWS_AT_ONCE = 10_000


def check_vector_file(path: str | os.PathLike[str], force: bool = False, data: Any = None) -> Path:
    """Return ``path`` if the embeddings of ``data`` can be written there; it raises the errors of `check_file`, too.

    Raises:
        ValueError: It has another ending, or is among the data.
    """
    path = Path(path)
    check_apart(path, data)
    if path.suffix.lower() == ".npy":  # its other columns go into a second file
        check_apart(path.with_suffix(".jsonl"), data)
        check_file(path.with_suffix(".jsonl"), force)
    return check_file(path, force, _WRITERS)


def write_vectors(parts: list[Path], output: Path, metadata: dict[str, str]) -> int:
    """Join embeddings into the file, or the pair of files, that the ending of its name asks for.

    Args:
        parts: Parquet files with the column ``vector`` and the same schema.
        output: A name that `check_vector_file` has accepted. The file appears only when it is complete.
        metadata: Metadata for a Parquet file; other formats cannot hold it.

    Returns:
        The number of rows.
    """
    write = _write_lines if is_standard(output) else _WRITERS[output.suffix.lower()]
    with atomic_path(output) as temporary:
        if write is _write_array:
            with atomic_path(output.with_suffix(".jsonl")) as beside:
                write(parts, temporary, metadata)
                _write_lines(parts, beside, metadata, (_VECTOR,))
        else:
            write(parts, temporary, metadata)
    return sum(pq.read_metadata(part).num_rows for part in parts)


def _write_parquet(parts: list[Path], output: Path, metadata: dict[str, str]) -> None:
    schema = pq.read_schema(parts[0]).with_metadata(metadata)
    with pq.ParquetWriter(output, schema) as writer:
        for part in parts:
            writer.write_table(pq.read_table(part).replace_schema_metadata(schema.metadata))


def _write_csv(parts: list[Path], output: Path, metadata: dict[str, str]) -> None:
    """The vector is one cell, ``[0.1, …]``."""
    schema = pq.read_schema(parts[0])
    at = schema.get_field_index(_VECTOR)
    schema = without_formulas(schema.set(at, pa.field(_VECTOR, pa.string())).empty_table()).schema
    with pyarrow.csv.CSVWriter(output, schema) as writer:
        for part in parts:
            table = pq.read_table(part)
            vectors = pa.array(map(json.dumps, table[_VECTOR].to_pylist()), pa.string())
            writer.write_table(without_formulas(table.set_column(at, _VECTOR, vectors)))


def _write_array(parts: list[Path], output: Path, metadata: dict[str, str]) -> None:
    rows = sum(pq.read_metadata(part).num_rows for part in parts)
    dim = pq.read_schema(parts[0]).field(_VECTOR).type.list_size
    with output.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (rows, dim)})
        for part in parts:
            vectors = pq.read_table(part, columns=[_VECTOR])[_VECTOR]
            file.write(np.ascontiguousarray(vectors.combine_chunks().flatten(), dtype="<f4").tobytes())


def _write_lines(parts: list[Path], output: Path, metadata: dict[str, str], without: tuple[str, ...] = ()) -> None:
    write_lines((pq.read_table(part).drop_columns(list(without)) for part in parts), output)


def write_lines(tables: Iterable[pa.Table], output: Path) -> None:
    """Write the rows of tables as JSON lines."""
    with output.open("w", encoding="utf-8", newline="\n") as file:
        for batch in chain.from_iterable(table.to_batches(_ROWS_AT_ONCE) for table in tables):
            file.writelines(strict_json(row, default=str)[0] + "\n" for row in batch.to_pylist())


_WRITERS: dict[str, Callable[[list[Path], Path, dict[str, str]], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".npy": _write_array,
}
