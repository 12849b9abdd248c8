"""Conversations on disk: Arrow files in the cache, and chat JSONL.

Labels that turn up late are columns like all others: what was written before is then written again with them.
"""

from __future__ import annotations

import gzip
import io
import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pyarrow as pa
from filelock import FileLock

import turnlens
from turnlens._compat import datasets_cache
from turnlens._utils.files import atomic_path, check_file, discard, is_standard, put_in_order
from turnlens._utils.text_values import strict_json
from turnlens.data.conversation_reader import SkippedRows
from turnlens.data.read_options import ReadingOptions
from turnlens.errors import ConversationError
from turnlens.formats import FORMATS
from turnlens.formats.folders import readable_path, states_of
from turnlens.formats.input_files import is_spooled, sidecars_in

if TYPE_CHECKING:
    from datasets import Dataset

_ROWS_IN_BATCH = 1000
_LETTERS_IN_BATCH = 1 << 24
_MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
_SCHEMA = pa.schema([("id", pa.string()), ("messages", pa.list_(_MESSAGE))])


def cached_conversations(
    files: Sequence[Path], options: ReadingOptions, read: Callable[[SkippedRows], Iterable[dict[str, Any]]]
) -> Dataset:
    """Return the conversations of files from the cache; ``read`` reads them if it does not have them.

    A changed file is another one to the cache.
    """
    cached = _cache_folder(files, options)
    skipped = SkippedRows(options.on_error)
    # The folder alone says nothing: `datasets` writes there again after caches were emptied.
    summary = cached / "skipped.json"
    if summary.exists():
        SkippedRows.from_json(summary.read_text(encoding="utf-8")).report()
    else:
        cached.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{cached}.lock"):  # of processes that start together, one reads and the others wait
            if not summary.exists():
                with atomic_path(cached) as folder:
                    folder.mkdir()
                    write_arrow(read(skipped), folder / "conversations.arrow")
                    (folder / "skipped.json").write_text(skipped.to_json(), encoding="utf-8")
    from datasets import Dataset  # takes a second, which reading row by row does without

    return Dataset.from_file(str(cached / "conversations.arrow"))


def _cache_folder(files: Sequence[Path], options: ReadingOptions) -> Path:
    sidecars = {file for folder in {file.parent for file in files} for file in sidecars_in(folder)}  # such as splits
    states = [state for file in [*files, *sorted(sidecars - set(files))] for state in states_of(file)]
    # the names as the user wrote them count too: they are in the ids and the skip summary
    key = json.dumps(
        [turnlens.__version__, [*FORMATS], options.key, states, [readable_path(str(file)) for file in files]]
    )
    name = blake2b(key.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    # temporary input is never read again, so nothing is cached for it
    temporary = next((file.parent for file in files if is_spooled(file)), None)
    return (temporary or _cache()) / name


def _cache() -> Path:
    return datasets_cache() / "turnlens"


def forget_conversations() -> Path:
    """Empty the cache of `read_conversations`, which then reads files again when they are asked for.

    Returns:
        The folder of the cache.
    """
    cache = _cache()
    names = {re.sub(r"^\.(\w+)\.writing-.*|\.lock$", r"\1", path.name) for path in cache.glob("*")}
    for name in names:
        with FileLock(cache / f"{name}.lock"):
            put_in_order(cache / name)  # of a process that was killed while it read
            discard(cache / name)
    return cache


def write_arrow(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Write conversations as an Arrow stream. Columns: id, messages, then labels as they turn up."""
    schema, parts = _SCHEMA, list[Path]()
    with _one_type_each():
        for schema, tables in groupby(_growing(_tables(rows)), attrgetter("schema")):
            parts.append(path.with_suffix(f".part{len(parts)}"))
            with pa.ipc.new_stream(str(parts[-1]), schema) as writer:
                for table in tables:
                    writer.write_table(table)
    if len(parts) == 1:
        parts[0].rename(path)
        return
    # Labels that turned up late are missing from the earlier parts.
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for part in parts:
            with pa.memory_map(str(part)) as written, pa.ipc.open_stream(written) as reader:
                for batch in reader:
                    writer.write_table(_unified(schema, pa.Table.from_batches([batch])))
            part.unlink()


def arrow_table(rows: Iterable[dict[str, Any]]) -> pa.Table:
    """Return conversations as an Arrow table in memory, with the same columns as `write_arrow`."""
    with _one_type_each():
        return pa.concat_tables([_SCHEMA.empty_table(), *_tables(rows)], promote_options="permissive")


@contextmanager
def _one_type_each() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ConversationError("labels", f"a label has values that fit no common type: {error}") from None


def _growing(tables: Iterable[Any]) -> Iterator[Any]:
    """Return tables each with the columns of all before it."""
    schema = _SCHEMA
    for table in tables:
        table = _unified(schema, table)
        schema = table.schema
        yield table


def _tables(rows: Iterable[dict[str, Any]]) -> Iterator[Any]:
    batch, letters = [], 0
    for row in rows:
        batch.append(row)
        letters += sum(len(value) for item in (row, *row["messages"]) for value in item.values() if type(value) is str)
        if len(batch) == _ROWS_IN_BATCH or letters > _LETTERS_IN_BATCH:
            yield _table(batch)
            batch, letters = [], 0
    if batch:
        yield _table(batch)


def _table(batch: list[dict[str, Any]]) -> Any:
    names = dict.fromkeys(name for row in batch for name in row)
    return pa.table({name: pa.array([row.get(name) for row in batch]) for name in names})


def _unified(schema: Any, table: Any) -> Any:
    """Return a table with the columns of ``schema`` first and its own new ones after them."""
    return pa.concat_tables([schema.empty_table(), table], promote_options="permissive").combine_chunks()


def check_chat_file(output: str | os.PathLike[str], force: bool) -> Path:
    """Return ``output`` if chats can be written there. Raises the errors of `check_file`, too.

    Raises:
        ValueError: It has another ending.
    """
    if not (is_standard(output) or str(output).endswith((".jsonl", ".jsonl.gz"))):
        raise ValueError(f"output is {output}; expected a name ending in .jsonl or .jsonl.gz")
    return check_file(output, force)


def write_chats(rows: Iterable[dict[str, Any]], output: Path) -> int:
    """Write conversations as chat JSONL, gzipped if the name ends in ``.gz``, and return their number."""
    count = replaced = 0
    with _open_output(output) as file:
        for row in rows:
            text, nulls = strict_json({**_without_none(row), "messages": [*map(_without_none, row["messages"])]})
            file.write(f"{text}\n")
            count += 1
            replaced += nulls
    if replaced:
        logging.getLogger("turnlens").warning("wrote null for %d numbers that JSON does not know (NaN, …)", replaced)
    return count


@contextmanager
def _open_output(path: Path) -> Iterator[TextIO]:
    with ExitStack() as files:
        file: Any = files.enter_context(path.open("wb"))
        if path.suffix == ".gz":
            # no time or name inside, so that the same conversations give the same bytes
            file = files.enter_context(gzip.GzipFile("", "wb", 6, file, mtime=0))
        yield files.enter_context(io.TextIOWrapper(file, "utf-8", newline="\n"))


def _without_none(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if value is not None}
