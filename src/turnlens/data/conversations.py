"""Reading conversations from files and other sources as a `datasets.Dataset`, and writing them as chat JSONL.

A row is ``{"id", "messages": [{"role", "content"}, …], …labels}``. The fields of a message besides role and content are
its labels, which are kept too.
"""

from __future__ import annotations

import gzip
import io
import json
import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from filelock import FileLock
from typing_extensions import Unpack

from turnlens._compat import datasets_cache
from turnlens._utils.files import atomic_path, check_file, discard, is_standard, only_writer, put_in_order
from turnlens._utils.text_values import strict_json
from turnlens.data.arrow_file import arrow_table, write_arrow
from turnlens.data.conversation_reader import SkippedRows, read_rows, read_sources
from turnlens.data.conversation_source import ROW, Given, GivenSource, in_python
from turnlens.data.messages import Messages, checked_messages
from turnlens.data.read_options import ReadingOptions, ReadOptions
from turnlens.errors import ConversationError
from turnlens.formats import FORMATS
from turnlens.formats.folders import shown, states_of
from turnlens.formats.input_files import check_apart, find_files, is_paths, is_spooled, sidecars_in

if TYPE_CHECKING:
    from datasets import Dataset

# Part of the cache key: raise it if files that could be read before give other rows now.
_CACHE_VERSION = 1
_COMPRESSION_LEVEL = 6
_OF_MESSAGE = ("role", "content")


def read_conversations(data: Given, **options: Unpack[ReadOptions]) -> Dataset:
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
    """
    how = ReadingOptions.of(**options)
    skipped = SkippedRows(how.on_error)
    if not is_paths(data):
        if _is_dataset(data) and how == ReadingOptions() and _is_chat(data):
            return data if "id" in data.column_names else data.add_column("id", _default_ids(len(data)))
        from datasets import Dataset
        from datasets.table import InMemoryTable

        return Dataset(InMemoryTable(arrow_table(_read_given(data, how, skipped))))
    files = find_files(data, how.format)
    cached = _cache_folder(files, how)
    # The folder alone says nothing: `datasets` writes there again after caches were emptied.
    told = cached / "skipped.json"
    if told.exists():
        SkippedRows.from_json(told.read_text(encoding="utf-8")).report()
    else:
        cached.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{cached}.lock"):  # of processes that start together, one reads and the others wait
            if not told.exists():
                _read_into(cached, files, how, skipped)
    from datasets import Dataset  # takes a second, which reading row by row does without

    return Dataset.from_file(str(cached / "conversations.arrow"))


def iterate_conversations(data: Given, **options: Unpack[ReadOptions]) -> Iterator[dict[str, Any]]:
    """Yield the conversations that `read_conversations` gives one at a time, without keeping any of them."""
    how = ReadingOptions.of(**options)
    return _iterate(data, how, SkippedRows(how.on_error))


def _iterate(data: Given, options: ReadingOptions, skipped: SkippedRows) -> Iterator[dict[str, Any]]:
    if is_paths(data):
        return read_rows(find_files(data, options.format), options, skipped)
    return _read_given(data, options, skipped)


def _read_given(
    data: object, options: ReadingOptions, skipped: SkippedRows, name: str = ROW
) -> Iterator[dict[str, Any]]:
    try:
        yield from read_sources({name: GivenSource(data)}, options, skipped)
    except ConversationError as error:
        raise in_python(error) from None


def _is_dataset(data: object, also_streams: bool = False) -> bool:
    """Whether this is a `datasets.Dataset`, or a stream of one; the library is not imported to find that out."""
    library = sys.modules.get("datasets")
    if library is None:
        return False
    return isinstance(data, (library.Dataset, library.IterableDataset) if also_streams else library.Dataset)


def _is_chat(conversations: Dataset) -> bool:
    """Whether a data set holds what `read_conversations` gives, so that nothing needs to be read."""
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
    said = pc.list_flatten(messages)
    needed = [messages, *(pc.struct_field(said, name) for name in _OF_MESSAGE)]
    needed += [conversations.data.column("id")] if "id" in names else []
    return not any(column.null_count for column in needed)


def _default_ids(count: int) -> list[str]:
    return [f"{ROW}-{number}" for number in range(1, count + 1)]


def rows_of(conversations: Given) -> Iterable[Mapping[str, Any]]:
    """Conversations as rows ``{"id", "messages", …labels}``, one at a time, for callers that check each row themselves.

    Rows that have ``messages``, in a list, a data set or an iterator, pass unchanged. Everything else is read, and must
    contain the conversations' ids.
    """
    if _is_dataset(conversations, also_streams=True):
        if "messages" in (conversations.column_names or ()):
            return conversations
    elif isinstance(conversations, Sequence | Iterator) and not is_paths(conversations):
        rows = iter(conversations)
        try:
            first = next(rows)
        except StopIteration:
            return ()
        if isinstance(conversations, Iterator):
            conversations = chain([first], rows)
        if isinstance(first, Mapping) and "messages" in first:
            return cast("Iterable[Mapping[str, Any]]", conversations)
    options, skipped = ReadingOptions(), SkippedRows("raise")
    if is_paths(conversations):
        return _iterate(conversations, options, skipped)
    return _read_given(conversations, options, skipped, name="")


def messages_of(conversations: Given) -> Sequence[Messages]:
    """The checked messages of conversations, given as lists of messages or in any form that `read_conversations` reads.

    Raises:
        ConversationError: A message has no role or text.
        ValueError: A conversation is empty.
    """
    is_list = isinstance(conversations, Sequence) and not is_paths(conversations)
    if not is_list or (len(conversations) and not isinstance(conversations[0], list | tuple)):
        conversations = read_conversations(conversations)["messages"]
    return checked_messages(cast("Sequence[Messages]", conversations))


def forget_conversations() -> Path:
    """Empty the cache of `read_conversations`, which then reads files again when they are asked for.

    Returns:
        The folder of the cache.
    """
    kept = _kept()
    names = {re.sub(r"^\.(\w+)\.writing-.*|\.lock$", r"\1", path.name) for path in kept.glob("*")}
    for name in names:
        with FileLock(kept / f"{name}.lock"):
            put_in_order(kept / name)  # of a process that was killed while it read
            discard(kept / name)
    return kept


def _kept() -> Path:
    return datasets_cache() / "turnlens"


def _read_into(cached: Path, files: list[Path], options: ReadingOptions, skipped: SkippedRows) -> None:
    with atomic_path(cached) as folder:
        folder.mkdir()
        write_arrow(read_rows(files, options, skipped), folder / "conversations.arrow")
        (folder / "skipped.json").write_text(skipped.to_json(), encoding="utf-8")


def _cache_folder(files: list[Path], options: ReadingOptions) -> Path:
    beside = {file for folder in {file.parent for file in files} for file in sidecars_in(folder)}  # such as splits
    states = [state for file in [*files, *sorted(beside - set(files))] for state in states_of(file)]
    # the names as given count too: they are in the ids and the skip summary
    key = json.dumps([_CACHE_VERSION, [*FORMATS], options.key, states, [shown(str(file)) for file in files]])
    name = blake2b(key.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    # temporary input is never read again, so nothing is cached for it
    passing = next((file.parent for file in files if is_spooled(file)), None)
    return (passing or _kept()) / name


def convert_conversations(
    data: Given,
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


def check_chat_file(output: str | os.PathLike[str], force: bool) -> Path:
    """Return ``output`` if chats can be written there. Raises the errors of `check_file`, too.

    Raises:
        ValueError: It has another ending.
    """
    if not (is_standard(output) or str(output).endswith((".jsonl", ".jsonl.gz"))):
        raise ValueError(f"output is {output}; expected a name ending in .jsonl or .jsonl.gz")
    return check_file(output, force)


def write_chats(rows: Iterable[dict[str, Any]], output: Path) -> int:
    """Write conversations as chat JSONL, gzipped if the name ends in ``.gz``.

    Returns:
        How many there were.
    """
    count = replaced = 0
    with _open_output(output) as file:
        for row in rows:
            text, nulls = strict_json(_without_none(row))
            file.write(f"{text}\n")
            count += 1
            replaced += nulls
    if replaced:
        logging.getLogger("turnlens").warning("wrote null for %d numbers that JSON does not know (NaN, …)", replaced)
    return count


@contextmanager
def _open_output(path: Path) -> Iterator[TextIO]:
    with path.open("wb") as raw:
        if path.suffix == ".gz":
            # no time or name inside, so that the same conversations give the same bytes
            packed = gzip.GzipFile("", "wb", _COMPRESSION_LEVEL, raw, mtime=0)
            with packed, io.TextIOWrapper(packed, "utf-8", newline="\n") as text:
                yield text
        else:
            with io.TextIOWrapper(raw, "utf-8", newline="\n") as text:
                yield text


def _without_none(row: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in row.items() if value is not None}
    kept["messages"] = [
        {key: value for key, value in message.items() if value is not None} for message in row["messages"]
    ]
    return kept
