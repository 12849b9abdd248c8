"""Conversations of any source, as a `datasets.Dataset`, one at a time, or as chat JSONL.

A row is ``{"id", "messages": [{"role", "content"}, …], …labels}``. The fields of a message besides role and content are
its labels, which are kept too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import Unpack

from turnlens._utils.files import atomic_path, only_writer
from turnlens.data.conversation_files import arrow_table, cached_conversations, check_chat_file, write_chats
from turnlens.data.conversation_reader import SkippedRows, default_names, read_files, read_sources
from turnlens.data.conversation_source import (
    ROW,
    ConversationSource,
    MemorySource,
    in_python,
    is_chat_dataset,
    is_dataset,
)
from turnlens.data.messages import Messages, checked_messages
from turnlens.data.read_options import ReadingOptions, ReadOptions
from turnlens.errors import ConversationError
from turnlens.formats.folders import readable_path
from turnlens.formats.input_files import check_apart, find_files, is_missing, is_paths, named_paths

if TYPE_CHECKING:
    from datasets import Dataset

_NOTHING = object()


class ConversationInput:
    """Conversations in any form that users have them in, and the one place that finds out which.

    Args:
        data: The conversations.
        options: The options to read them with.
    """

    def __init__(self, data: ConversationSource, options: ReadingOptions | None = None) -> None:
        self._data: Any = data
        self._options = options or ReadingOptions()

    @cached_property
    def _files(self) -> list[Path]:
        return find_files(self._data, self._options.format) if is_paths(self._data) else []

    def dataset(self) -> Dataset:
        """Return all conversations as a data set: of files from the cache, of everything else in memory."""
        if self._files:
            return cached_conversations(
                self._files,
                self._options,
                lambda skipped: read_files(self._files, self._options, skipped, named_paths(self._data)),
            )
        if self._options == ReadingOptions() and is_chat_dataset(self._data):
            data: Dataset = self._data
            if "id" in data.column_names:
                return data
            return data.add_column("id", [f"{ROW}-{number}" for number in range(1, len(data) + 1)])
        from datasets import Dataset
        from datasets.table import InMemoryTable

        return Dataset(InMemoryTable(arrow_table(self._in_memory(ROW))))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Return the conversations one at a time, without keeping any of them."""
        if self._files:
            return read_files(self._files, self._options, SkippedRows(self._options.on_error), named_paths(self._data))
        return self._in_memory(ROW)

    def rows_with_ids(self) -> Iterable[Mapping[str, Any]]:
        """Return rows for callers that check each themselves: rows that have ``messages`` pass unchanged.

        Conversations in memory must have ids of their own.
        """
        if self._files:
            return self.dataset()
        data = self._data
        if is_dataset(data, also_streams=True):
            if "messages" in (data.column_names or ()):
                return cast("Iterable[Mapping[str, Any]]", data)
        elif isinstance(data, Sequence | Iterator):
            rows = iter(data)
            first = next(rows, _NOTHING)
            if first is _NOTHING:
                return ()
            if isinstance(data, Iterator):
                self._data = data = chain([first], rows)
            if isinstance(first, Mapping) and "messages" in first:
                return cast("Iterable[Mapping[str, Any]]", data)
        return self._in_memory("")

    def messages(self) -> Sequence[Messages]:
        """Return the checked messages of each conversation; lists of messages pass without being read.

        Raises:
            ConversationError: A message has no role or text.
            ValueError: A conversation is empty, or the data is a text.
        """
        data = self._data
        if isinstance(data, str) and is_missing(data):
            raise ValueError(
                f"expected a list of texts, conversations or the name of a file, got the text {data[:60]!r}, "
                "which is no file: give a single text in a list"
            )
        is_list = isinstance(data, Sequence) and not is_paths(data)
        if not is_list or (len(data) and not isinstance(data[0], list | tuple)):
            data = self.dataset()["messages"]
        return checked_messages(cast("Sequence[Messages]", data))

    def files_by_name(self) -> dict[str, str]:
        """Return the files by the beginning of the ids that are made where a file has none."""
        redaction, files = self._options.redaction, default_names(self._files).items()
        return {redaction.identifier(name) if redaction else name: readable_path(str(file)) for file, name in files}

    def _in_memory(self, name: str) -> Iterator[dict[str, Any]]:
        skipped = SkippedRows(self._options.on_error)
        try:
            yield from read_sources({name: MemorySource(self._data)}, self._options, skipped)
        except ConversationError as error:
            raise in_python(error) from None


def read_conversations(data: ConversationSource, **options: Unpack[ReadOptions]) -> Dataset:
    """Read conversations from files of any known format, or from data frames, data sets and lists.

    The rows of files are streamed to an Arrow file in the cache directory of `datasets`, so memory stays small. Reading
    the same files again, unchanged, opens that file. Everything else is read into memory, by the same rules as files
    of that layout; a `datasets.Dataset` that this function gave comes back as it is.

    Args:
        data: One or several of: a file, a folder (all files in it with a known ending), a glob, ``-`` (the standard
            input). Or a pandas or polars DataFrame, or another Arrow table: of messages, one a row, or of conversations
            with a column ``messages``. Or a `datasets.Dataset` of either. Or a list of conversations
            (``{"messages": […]}``), of lists of messages, or of messages that name their conversation.
        **options: The format, the columns of tables, what is redacted and more: see `ReadOptions`.

    Returns:
        Columns ``id`` (``<file stem>-<row number>`` where the source has none, preceded by as much of the path
        as distinguishes files of the same name; ``row-<row number>`` where there is no file), ``messages`` and the
        source's labels.

    Raises:
        ConversationError: Nothing to read, or a bad row; names the file and line.
        ValueError: An option has a bad value.

    Examples:
        >>> import turnlens
        >>> talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
        >>> conversations = turnlens.read_conversations([{"id": "a", "messages": talk, "channel": "chat"}])
        >>> conversations.column_names, conversations[0]["messages"][1]["content"]
        (['id', 'messages', 'channel'], 'Hello!')
    """
    return ConversationInput(data, ReadingOptions.of(**options)).dataset()


def iterate_conversations(data: ConversationSource, **options: Unpack[ReadOptions]) -> Iterator[dict[str, Any]]:
    """Return the conversations that `read_conversations` gives one at a time, without keeping any of them."""
    return ConversationInput(data, ReadingOptions.of(**options)).rows()


def convert_conversations(
    data: ConversationSource,
    *,
    output: str | os.PathLike[str],
    force: bool = False,
    split: str | None = None,
    **options: Unpack[ReadOptions],
) -> int:
    """Write conversations of any known format as chat JSONL.

    Args:
        data: As for `read_conversations`.
        output: A ``.jsonl`` or ``.jsonl.gz`` file, which appears only when complete; or ``-``, the standard output.
        force: Overwrite ``output`` if it exists.
        split: Write only conversations whose label ``split`` is this, such as ``"test"``.
        **options: See `ReadOptions`.

    Returns:
        The number of conversations written.

    Raises:
        ConversationError: As for `read_conversations`.
        BlockingIOError: Another process is writing ``output``.
        FileExistsError: ``output`` exists and ``force`` is false.
        ValueError: ``output`` has another ending or is one of the files that are read, an option has a bad value, or no
            conversation belongs to the split.

    Examples:
        >>> import tempfile, turnlens
        >>> talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     turnlens.convert_conversations([talk, talk], output=f"{folder}/chats.jsonl.gz")
        2
    """
    check_apart(output, data)
    target = check_chat_file(output, force)
    conversations = iterate_conversations(data, **options)
    with only_writer(target), atomic_path(target) as temporary:
        rows = (row for row in conversations if split is None or row.get("split") == split)
        count = write_chats(rows, temporary)
        if not count:
            raise ValueError(f"no conversation has the label 'split' with the value {split!r}: leave the split out")
    return count
