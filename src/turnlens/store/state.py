"""The state of a store: one small file, replaced atomically, that says which versions of its tables are current.

In LanceDB, a change of one table is atomic, but a change of two is not. Readers open exactly the versions that the
file names, and a writer first undoes whatever a killed writer left beyond them. So a batch is stored either as a whole
or not at all. Whatever LanceDB raises about files that were cut, changed or removed becomes one error that says what to
do.
"""

from __future__ import annotations

import errno
import json
import os
import re
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from turnlens._utils.arguments import check_types
from turnlens._utils.files import errno_of, is_disk_full, write_text
from turnlens.errors import error_line, is_out_of_memory

_SCHEMA = 1
STATE_FILE = "store.json"
LOCK_FILE = "writer.lock"
_HOLDER = "writer.json"
LOCK_SECONDS = 5.0  # how long a writer waits for another writer
_ROOM = 2**20  # bytes, without which a disk is full
_PLACE_IN_SOURCES = re.compile(r", /\S+\.rs:\d+(:\d+)?")
Stamp = tuple[int, int] | None


class StoreError(ValueError):
    """A store cannot be used in the way that was asked for."""


class StoreLockedError(StoreError):
    """Another process or thread is writing to the store."""


@dataclass(frozen=True)
class IndexFacts:
    """An index of vectors as it was built, see `turnlens.store.vector_index`.

    Attributes:
        file: The name of its files, without their endings.
        rows: How many vectors it holds.
        probes: How many of its cells a query searches.
        recall: The share of the ten nearest of its vectors that this finds, on a sample of queries.
    """

    file: str
    rows: int
    probes: int
    recall: float


@dataclass(frozen=True)
class StoreState:
    """A store at one moment.

    Attributes:
        folder: The folder inside the store that holds the tables.
        encoder: Where the encoder was loaded from.
        digest: A hash of its weights, head and prompts.
        dim: The length of its vectors.
        has_replies: Whether messages have a second vector, as candidates for the next message.
        pooling: How whole conversations are pooled.
        tokenizer: The tokenizer of the full-text index; empty until the first texts arrive, if it is chosen by them.
        language: The language of the stems and stop words of that index.
        messages: The current version of the table ``messages``.
        conversations: The current version of the table ``conversations``.
        indexes: The indexes of vectors, each of other rows: of messages (``vector``), of messages as candidates
            (``reply``), and of whole conversations (``conversation``).
        commits: How many batches were written since the tables were compacted.
        unindexed: How many bytes of texts were added since then, which a search for words reads as a whole.
    """

    folder: str
    encoder: str
    digest: str
    dim: int
    has_replies: bool
    pooling: str
    tokenizer: str
    language: str
    messages: int = 1
    conversations: int = 1
    indexes: dict[str, list[IndexFacts]] = field(default_factory=dict)
    commits: int = 0
    unindexed: int = 0


def read_state(path: Path) -> StoreState:
    """The state of the store at a path.

    Raises:
        StoreError: There is no store, its state is damaged, or it has another schema.
    """
    try:
        content: dict[str, Any] = json.loads((path / STATE_FILE).read_text(encoding="utf-8"))
        schema = content.pop("schema")
        if schema == _SCHEMA:
            return _state_of(content)
    except FileNotFoundError:
        raise no_store(path) from None
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise StoreError(
            f"{path / STATE_FILE} is damaged: {error_line(error)}; copy it back from a backup, or delete the folder "
            "and index again"
        ) from error
    raise StoreError(
        f"{path} has schema {schema}, this version of turnlens reads {_SCHEMA}: use the one that wrote it, or index "
        "again into another folder"
    )


def no_store(path: Path) -> StoreError:
    """The error for a folder that is no store, or has lost its state."""
    if holds_rows(path):
        return StoreError(
            f"{path / STATE_FILE} is missing, and without it nothing says which of the store's files count: copy it "
            "back from a backup, or delete the folder and index again"
        )
    return StoreError(f"{path} is not a store: create one with turnlens index DATA --store {path}")


def holds_rows(path: Path) -> bool:
    """Return true if a folder has rows of a store; a half-made store has none yet."""
    return next(path.rglob("*.lance/data/*.lance"), None) is not None


def _state_of(content: dict[str, Any]) -> StoreState:
    indexes = {name: [IndexFacts(**facts) for facts in built] for name, built in content.pop("indexes").items()}
    state = StoreState(**content, indexes=indexes)
    for read in (state, *chain(*indexes.values())):
        check_types(read)
    for path in (state.folder, *(facts.file for facts in chain(*indexes.values()))):
        if Path(path).is_absolute() or ".." in Path(path).parts:
            raise ValueError(f"a file is {path!r}")
    return state


def write_state(path: Path, state: StoreState) -> None:
    """Commit: from now on, the versions in this state are the current ones."""
    write_text(path / STATE_FILE, json.dumps({"schema": _SCHEMA, **asdict(state)}, indent=2) + "\n")


def state_stamp(path: Path) -> tuple[int, int] | None:
    """A value that is cheap to read and changes with every commit; ``None`` where there is no store."""
    try:
        status = (path / STATE_FILE).stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_ino


@contextmanager
def writer_lock(path: Path, seconds: float) -> Iterator[None]:
    """Lock a store for writing, inside the block. The system releases the lock of a process that dies.

    Args:
        path: The store.
        seconds: How long to wait for another writer.

    Raises:
        StoreError: There is no such folder.
        StoreLockedError: Another process is writing; the message names it.
    """
    if not path.is_dir():  # the lock would make it, in the way of a backup that is put there
        raise no_store(path)
    lock = FileLock(path / LOCK_FILE, timeout=seconds)
    try:
        lock.acquire()
    except PermissionError as error:
        raise not_permitted(path, error_line(error)) from None
    except Timeout:
        raise StoreLockedError(
            f"{path} is being written by {_holder(path)}: try again when it is done; reading is possible meanwhile"
        ) from None
    try:
        holder = {"process": os.getpid(), "host": socket.gethostname(), "since": datetime.now(UTC).isoformat()[:19]}
        (path / _HOLDER).write_text(json.dumps(holder), encoding="utf-8")
        yield
    finally:
        lock.release()


def not_permitted(path: Path, detail: str) -> StoreError:
    """The error for files of a store that this process must not change."""
    return StoreError(
        f"{path} must not be written by this user ({detail}): run everything that writes to it as the user who owns it"
    )


def _holder(path: Path) -> str:
    try:
        holder = json.loads((path / _HOLDER).read_text(encoding="utf-8"))
        return f"process {holder['process']} on {holder['host']} since {holder['since']} UTC"
    except (OSError, ValueError, KeyError):
        return "another process"


@contextmanager
def naming_damage(store: Path, stamp: Stamp = None, passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Inside the block, turn all errors into a `StoreError`. The block must call nothing but LanceDB and Arrow.

    If another process has rewritten the store meanwhile, the error is a `StoreLockedError`: reading again will work.

    Args:
        store: The folder of the store.
        stamp: The stamp of the commit that is read; ``None`` for a writer, since only the writer removes files.
        passing: Errors that explain themselves and are raised unchanged.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, UnicodeEncodeError):  # what was asked for, not what is stored
            text = error.object[max(0, error.start - 20) : error.end]
            raise ValueError(f"half of a surrogate pair is not text: {text!r}") from error
        is_panic = type(error).__name__ == "PanicException"  # from LanceDB's Rust code; not a subclass of Exception
        if (
            isinstance(error, (StoreError, ImportError, *passing))
            or is_out_of_memory(error)
            or not (is_panic or isinstance(error, Exception))
        ):
            raise
        if stamp is not None and stamp != state_stamp(store):
            raise StoreLockedError(f"{store} was rewritten while it was being read: read it again") from error
        place, cause = store, error
        if stamp is None and errno_of(error) is None:
            place, cause = _full_disk(store) or (store, error)
        detail = _PLACE_IN_SOURCES.sub("", error_line(cause))
        if is_disk_full(cause):
            raise StoreError(
                f"the disk of {place} is full ({detail}); the store is sound: free some space and do the same again"
            ) from error
        if errno_of(error) in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise not_permitted(store, detail) from error
        raise StoreError(
            f"{store} cannot be used: {detail}. If its files were cut, changed or removed, copy a backup back, or "
            "delete the folder and index again"
        ) from error


def _full_disk(store: Path) -> tuple[Path, BaseException] | None:
    """A full disk and its error, asked with a file: not all of LanceDB's errors tell what the system said."""
    for folder in (store, Path(tempfile.gettempdir())):  # indexes are built in the folder for temporary files
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(bytes(_ROOM))
        except OSError as error:
            if is_disk_full(error):
                return folder, error
    return None


def damaged(problem: str) -> StoreError:
    """The error for rows with content that no store writes."""
    return StoreError(f"{problem}: the store is damaged; copy a backup back, or delete its folder and index again")
