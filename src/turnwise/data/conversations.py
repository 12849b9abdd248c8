"""Conversations as a `datasets.Dataset`: reading, cleaning, splitting, and writing them as chat JSONL.

A row is ``{"id", "messages": [{"role", "content"}, …], …labels}``. Any label beside the role and the content of a
message is kept too.
"""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, TextIO

import datasets
from filelock import FileLock

from turnwise._compat import datasets_cache
from turnwise._utils.files import atomic_path, check_file
from turnwise.data.formats.arrow_file import write_arrow
from turnwise.data.formats.reading import OnError, Paths, SkippedRows, find_files, read_rows

# Part of the cache key: raise it whenever the same files would give other rows.
_CACHE_VERSION = 2
_COMPRESSION_LEVEL = 6


def read_conversations(paths: Paths, format: str = "auto", on_error: OnError = "raise") -> datasets.Dataset:
    """Read conversations from files of any known format.

    The rows are streamed to an Arrow file in the cache directory of `datasets`, so memory stays small. Reading the same
    unchanged files again opens that file.

    Args:
        paths: One or several of: a file, a folder (all files in it with a known ending), a glob.
        format: Name of the source format; ``"auto"`` tells it from the content of each file.
        on_error: ``"raise"`` stops at the first bad row, ``"skip"`` leaves bad rows out and logs a summary.

    Returns:
        Columns ``id`` (``<file stem>-<row number>`` where the source has none, with as much of the path as tells files
        of one name apart), ``messages`` and the source's labels.

    Raises:
        ConversationError: Nothing to read, or a bad row; names the file and line.
    """
    _check_on_error(on_error)
    files = find_files(paths, format)
    cached = _cache_folder(files, format, on_error)
    if cached.exists():
        SkippedRows.from_json((cached / "skipped.json").read_text(encoding="utf-8")).report()
    else:
        cached.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{cached}.lock"):  # of processes that start together one reads, and the others wait
            if not cached.exists():
                _read_into(cached, files, format, on_error)
    return datasets.Dataset.from_file(str(cached / "conversations.arrow"))


def _read_into(cached: Path, files: list[Path], format: str, on_error: OnError) -> None:
    with atomic_path(cached) as folder:
        folder.mkdir()
        skipped = SkippedRows(on_error)
        write_arrow(read_rows(files, format, skipped), folder / "conversations.arrow")
        (folder / "skipped.json").write_text(skipped.to_json(), encoding="utf-8")


def _check_on_error(on_error: str) -> None:
    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error is {on_error!r}; expected 'raise' or 'skip'")


def _cache_folder(files: list[Path], format: str, on_error: str) -> Path:
    states = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    # the given names count too: they are in the ids and the skip summary
    key = json.dumps([_CACHE_VERSION, format, on_error, states, [str(file) for file in files]])
    name = blake2b(key.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return datasets_cache() / "turnwise" / name


def convert_conversations(
    paths: Paths,
    output: str | os.PathLike[str],
    format: str = "auto",
    on_error: OnError = "raise",
    force: bool = False,
) -> int:
    """Write conversations of any known format as chat JSONL.

    Args:
        paths: As for `read_conversations`.
        output: A ``.jsonl`` or ``.jsonl.gz`` file. It appears only when complete.
        format: As for `read_conversations`.
        on_error: As for `read_conversations`.
        force: Overwrite ``output`` if it exists.

    Returns:
        The number of conversations written.

    Raises:
        ConversationError: As for `read_conversations`.
        FileExistsError: ``output`` exists and ``force`` is false.
        ValueError: ``output`` has another ending.
    """
    _check_on_error(on_error)
    if not str(output).endswith((".jsonl", ".jsonl.gz")):
        raise ValueError(f"output is {output}; expected a name ending in .jsonl or .jsonl.gz")
    target = check_file(output, force)
    files = find_files(paths, format)
    skipped = SkippedRows(on_error)
    with atomic_path(target) as temporary, _open_output(temporary) as file:
        for row in read_rows(files, format, skipped):
            json.dump(_without_none(row), file, ensure_ascii=False)
            file.write("\n")
    return skipped.kept


@contextmanager
def _open_output(path: Path) -> Iterator[TextIO]:
    with path.open("wb") as raw:
        if path.suffix == ".gz":
            # no time and no name inside, so that the same conversations give the same bytes
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


def merge_consecutive_messages(conversations: datasets.Dataset, separator: str = " ") -> datasets.Dataset:
    """Join neighbouring messages of one role into one, which keeps the labels of the first.

    A conversation of one role alone, such as a story in sentences, has no turns to restore and stays as it is.
    """
    return _map_messages(conversations, _merged, separator=separator)


def _merged(messages: list[dict[str, Any]], separator: str) -> list[dict[str, Any]]:
    if len({message["role"] for message in messages}) < 2:
        return messages
    turns: list[list[dict[str, Any]]] = []
    for message in messages:
        if turns and turns[-1][0]["role"] == message["role"]:
            turns[-1].append(message)
        else:
            turns.append([message])
    return [{**turn[0], "content": separator.join(message["content"] for message in turn)} for turn in turns]


def drop_empty_messages(conversations: datasets.Dataset) -> datasets.Dataset:
    """Strip white space around contents, and drop messages, and then conversations, that are left empty."""
    return keep_long_enough(_map_messages(conversations, _stripped), min_turns=1)


def _stripped(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    stripped = ({**message, "content": message["content"].strip()} for message in messages)
    return [message for message in stripped if message["content"]]


def keep_long_enough(conversations: datasets.Dataset, min_turns: int = 2) -> datasets.Dataset:
    """Keep the conversations that have at least ``min_turns`` messages."""
    if min_turns < 1:
        raise ValueError(f"min_turns is {min_turns}; expected at least 1")
    return conversations.filter(
        _is_long_enough, input_columns="messages", batched=True, fn_kwargs={"min_turns": min_turns}
    )


def _is_long_enough(batch: list[list[dict[str, Any]]], min_turns: int) -> list[bool]:
    return [len(messages) >= min_turns for messages in batch]


def _map_messages(
    conversations: datasets.Dataset, change: Callable[..., list[dict[str, Any]]], **arguments: Any
) -> datasets.Dataset:
    return conversations.map(
        _changed_batch,
        input_columns="messages",
        batched=True,
        features=conversations.features,
        fn_kwargs={"change": change, **arguments},
    )


def _changed_batch(batch: list[list[dict[str, Any]]], change: Callable[..., Any], **arguments: Any) -> dict[str, Any]:
    return {"messages": [change(messages, **arguments) for messages in batch]}


def split_conversations(
    conversations: datasets.Dataset, train: float = 0.8, dev: float = 0.1, test: float = 0.1
) -> dict[str, datasets.Dataset]:
    """Split by a hash of the id, so a conversation's split depends on nothing but its id and the fractions.

    Args:
        conversations: Rows with an ``id``.
        train: Fraction of conversations for training.
        dev: Fraction for development.
        test: Fraction for testing; the three add up to 1.

    Returns:
        ``{"train": …, "dev": …, "test": …}``.
    """
    fractions = {"train": train, "dev": dev, "test": test}
    if min(fractions.values()) < 0 or abs(sum(fractions.values()) - 1) > 1e-6:
        raise ValueError(f"train, dev and test are {train}, {dev} and {test}; expected fractions that add up to 1")
    rows: dict[str, list[int]] = {name: [] for name in fractions}
    for index, identifier in enumerate(conversations["id"]):
        rows[_split_of(identifier, fractions)].append(index)
    return {name: conversations.select(indices) for name, indices in rows.items()}


def _split_of(identifier: str, fractions: dict[str, float]) -> str:
    digest = blake2b(identifier.encode(), digest_size=8).digest()
    position = int.from_bytes(digest, "big") / 2**64  # in [0, 1)
    used = [name for name, fraction in fractions.items() if fraction > 0]
    end = 0.0
    for name in used[:-1]:
        end += fractions[name]
        if position < end:
            return name
    return used[-1]
