"""Conversations in memory: data frames and other tables, data sets, and lists.

They are read as files of the same layout are: columns are found by their names or as the user names them, and every row
is checked. Tables are recognised by the Arrow interface that pandas, polars, pyarrow and others have, so that none of
them is imported here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard, Union

import numpy as np

from turnlens.errors import ConversationError
from turnlens.formats.bad_input import Budget
from turnlens.formats.input_files import Paths
from turnlens.formats.source_file import Source

if TYPE_CHECKING:
    from datasets import Dataset, IterableDataset


class ArrowTable(Protocol):
    """A table with the Arrow interface: a DataFrame of pandas or polars, a table of pyarrow, or a column of one."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


# Everything that conversations can be read from: names of files, tables, data sets, and lists of conversations, of
# lists of messages or of messages.
ConversationSource: TypeAlias = Union[
    Paths, ArrowTable, "Dataset", "IterableDataset", Iterable[Mapping[str, Any]], Iterable[Sequence[Mapping[str, Any]]]
]
ROW = "row"  # what default ids begin with where there is no file
_ROWS_AT_ONCE = 1000
_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls the numbers of rows, which are no column of the user's
_EXPECTED = (
    "expected files, a pandas or polars DataFrame, a datasets.Dataset, or a list of conversations, of lists of "
    "messages or of messages with the id of their conversation"
)
_OF_MESSAGE = ("role", "content")


def is_table(data: object) -> bool:
    """Return true for a data frame or another table, or a column of one."""
    return hasattr(data, "__arrow_c_stream__")


class MemorySource(Source):
    """Conversations, or rows of a table, in the place of a file.

    Args:
        data: The conversations or rows.

    Raises:
        ConversationError: It holds nothing, or is nothing that conversations can be read from.
    """

    def __init__(self, data: object) -> None:
        # the name stands in messages only
        super().__init__(Path("iterator" if isinstance(data, Iterator) else type(data).__name__))
        # read as the records of a file with this ending are: a table has all its columns in every row
        self.ending = ".parquet" if is_table(data) or hasattr(data, "column_names") else ".jsonl"
        self._rows = _table(data, str(self.path)) if is_table(data) else _listed_rows(data, str(self.path))
        if isinstance(self._rows, Sized) and not len(self._rows):
            raise ConversationError(str(self.path), f"it is empty; {_EXPECTED}")
        self._read = 0

    @property
    def is_folder(self) -> bool:
        """False, whatever lies in the working directory."""
        return False

    @property
    def size(self) -> int:
        """The number of rows, or 0 if it is unknown."""
        return len(self._rows) if isinstance(self._rows, Sized) else 0

    @property
    def position(self) -> int:
        """The number of rows read."""
        return self._read

    @property
    def budget(self) -> Budget:
        """No bounds, since it is in memory already."""
        return Budget(None)

    def place(self, number: int) -> str:
        """Return the place of row ``number``, for messages."""
        return f"{self.path}: row {number}"

    def open(self) -> Any:
        """Refuse: formats that are read as a whole, not row by row, need a file."""
        raise ConversationError(str(self.path), "this layout is read from files only: save it and give the file's name")

    def parquet_rows(self) -> Iterator[tuple[int, Any]]:
        """Yield ``(number, row)``."""
        rows = self._rows
        if hasattr(rows, "to_batches"):  # a table
            rows = chain.from_iterable(batch.to_pylist() for batch in rows.to_batches(_ROWS_AT_ONCE))
        for number, row in enumerate(rows, start=1):
            self._read = number
            yield number, _plain(row)

    def lines(self) -> Iterator[tuple[int, Any]]:
        """Yield the same rows, for formats whose files consist of lines."""
        return self.parquet_rows()


def in_python(error: ConversationError) -> ConversationError:
    """Return an error with its advice rewritten for Python: options of commands become arguments."""
    problem = re.sub(
        r"--columns (?:'([^'\n]*)'|(\S+))", lambda match: f'columns="{match[1] or match[2]}"', error.problem
    )
    return ConversationError(error.where, problem)


def is_dataset(data: object, also_streams: bool = False) -> bool:
    """Return true for a `datasets.Dataset`, or a stream of one, without importing the library."""
    library = sys.modules.get("datasets")
    if library is None:
        return False
    return isinstance(data, (library.Dataset, library.IterableDataset) if also_streams else library.Dataset)


def is_chat_dataset(conversations: Any) -> TypeGuard[Dataset]:
    """Return true for a data set as `read_conversations` gives one, of which nothing needs to be read."""
    if not is_dataset(conversations):
        return False
    import pyarrow as pa
    import pyarrow.compute as pc

    names = conversations.column_names
    if "messages" not in names or ("id" in names and conversations.features["id"].dtype != "string"):
        return False
    messages = conversations.data.column("messages")
    if not (pa.types.is_list(messages.type) and pa.types.is_struct(messages.type.value_type)):
        return False
    message = messages.type.value_type
    if any(message.get_field_index(name) < 0 or message.field(name).type != pa.string() for name in _OF_MESSAGE):
        return False
    # checking the columns in place takes no time; if something is missing, reading reports it
    flat = pc.list_flatten(messages)
    needed = [messages, *(pc.struct_field(flat, name) for name in _OF_MESSAGE)]
    needed += [conversations.data.column("id")] if "id" in names else []
    return not any(column.null_count for column in needed)


def _table(data: Any, name: str) -> Any:
    """Return an Arrow table, or a list of the values of a single column."""
    import pyarrow as pa

    try:
        if not (hasattr(data, "columns") or hasattr(data, "column_names")):  # a single column: its values
            return list(pa.chunked_array(data).to_pylist())
        table = pa.table(data)
    except (pa.ArrowException, ValueError, TypeError) as error:
        reason = "; ".join(map(str, error.args))
        problem = (
            f"no table of conversations ({reason}); expected columns of different names, each of one type of values"
        )
        raise ConversationError(name, problem) from None
    return table.select([column for column in table.column_names if not _INDEX.fullmatch(column)])


def _listed_rows(data: object, name: str) -> Iterable[Any]:
    if isinstance(data, Mapping):
        keys = ", ".join(map(str, list(data)[:5]))
        raise ConversationError(name, f"found a mapping with the keys {keys}; {_EXPECTED}")
    if not isinstance(data, Iterable) or isinstance(data, str | bytes):
        raise ConversationError(name, f"found {data!r:.60}; {_EXPECTED}")
    return list(data) if isinstance(data, Iterator) else data  # rows are looked at before they are read


def _plain(value: Any) -> Any:
    """Return a copy in plain Python, as JSON would give it; missing values of data frames become ``None``."""
    if isinstance(value, str):
        return value
    if isinstance(value, float | datetime) and value != value:  # NaN, and NaT of pandas
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return value
