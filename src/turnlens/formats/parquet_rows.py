"""Rows of Parquet files, which say in their footers how much is packed in them; a text that returns stays one text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from turnlens.errors import ConversationError
from turnlens.formats.bad_input import CELL, COLUMN, Budget

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

_UNITS_OF_A_BYTE = 4  # which is unpacked, decoded, and an object of Python
_ROWS, _BATCHES = 1000, 16  # taken at once at least; of a group at most, since each batch has all texts before it
_BYTES = 1 << 26  # of rows taken at once, where each text may repeat one before it
_SUBJECT = "what is packed in it"


def parquet_rows(file: BinaryIO, place: str, size: int, budget: Budget) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file of this size on the disk.

    Raises:
        ConversationError: It is not a Parquet file, or holds a time or number that Python does not know.
        TooLargeError: Far more is packed in it than a file of this size should hold.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        metadata = parquet.read_metadata(file)
        budget.spend(COLUMN * metadata.num_columns, "the number of its columns")
        rows, repeating = _rows_at_once(metadata, Budget(size))  # of its own, since all of it is drawn at once
        columns = map(metadata.schema.column, range(metadata.num_columns))
        texts = {c.path for c in columns if c.physical_type == "BYTE_ARRAY" and c.logical_type.type != "DECIMAL"}
        opened = parquet.ParquetFile(file, metadata=metadata, read_dictionary=sorted(texts - repeating))
        for group, count in enumerate(rows):
            for batch in opened.iter_batches(count, row_groups=[group]):
                values = [_values(column, budget) for column in batch.columns]
                yield from (dict(zip(batch.schema.names, row)) for row in zip(*values))
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk's, not the file's
            raise
        raise ConversationError(place, "not a readable Parquet file; write it again") from None
    except OverflowError as error:
        problem = f"a time or number that is out of range ({error}); write that column as text"
        raise ConversationError(place, problem) from None


def _rows_at_once(metadata: parquet.FileMetaData, packed: Budget) -> tuple[list[int], set[str]]:
    """Draw all that is packed in a file.

    Returns:
        Of each group of rows, how many are taken into memory together; and the columns whose texts are told by those
        before them, which cannot be read by a dictionary.
    """
    taken, repeating = [], set()
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        rows = max(_ROWS, group.num_rows // _BATCHES)
        for number in range(group.num_columns):
            chunk, width = group.column(number), metadata.schema.column(number).length or 0
            size = chunk.total_uncompressed_size
            packed.spend(_UNITS_OF_A_BYTE * size + max(CELL, width) * chunk.num_values, _SUBJECT)
            if chunk.physical_type == "BYTE_ARRAY" and any(name.startswith("DELTA") for name in chunk.encodings):
                repeating.add(chunk.path_in_schema)
                rows = min(rows, max(1, _BYTES // max(1, size)))
        taken.append(rows)
    return taken, repeating


def _values(array: pa.Array, budget: Budget) -> list[Any]:
    """The values of an array, among which equal texts are one object."""
    import pyarrow as pa
    from pyarrow import types

    budget.spend(CELL * len(array), _SUBJECT)
    kind = array.type
    if types.is_dictionary(kind):
        used = array.indices.unique()  # of a dictionary that may be far longer
        texts = dict(zip(used.to_pylist(), array.dictionary.take(used).to_pylist()))
        return _drawn([texts[index] for index in array.indices.to_pylist()], budget)
    if types.is_fixed_size_list(kind):
        return _values(array.cast(pa.list_(kind.value_field)), budget)
    filled = array.is_valid().to_pylist()
    if types.is_struct(kind):
        names = [field.name for field in kind]
        fields = [_values(field, budget) for field in array.flatten()]  # whose nulls include those of the structs
        rows = zip(*fields) if fields else ((),) * len(array)
        return [dict(zip(names, row)) if is_filled else None for row, is_filled in zip(rows, filled)]
    if types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind):
        parts = (array.keys, array.items) if types.is_map(kind) else (array.values,)
        lists = [_values(part, budget) for part in parts]
        items: list[Any] = list(zip(*lists)) if types.is_map(kind) else lists[0]
        bounds = array.offsets.to_pylist()
        return [items[a:b] if is_filled else None for a, b, is_filled in zip(bounds, bounds[1:], filled)]
    return _drawn(array.to_pylist(), budget)


def _drawn(values: list[Any], budget: Budget) -> list[Any]:
    budget.spend(sum(len(value) for value in values if isinstance(value, str | bytes)), _SUBJECT)
    return values
