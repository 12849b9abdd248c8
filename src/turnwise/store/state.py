"""What a store is and which versions of its tables count: one small file, replaced at once, that commits both tables.

A table alone is atomic in LanceDB, two are not. Readers open exactly the versions that the file names, and a writer
first takes back whatever a killed one left beyond them. So a batch is there as a whole or not at all.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

from turnwise._utils.files import atomic_path
from turnwise.errors import error_line

_SCHEMA = 1
_TYPES: dict[str, Any] = {"str": str, "int": int, "bool": bool, "float": (int, float)}
STATE_FILE = "store.json"
LOCK_FILE = "writer.lock"
_HOLDER = "writer.json"
LOCK_SECONDS = 5.0  # how long a writer waits for another


class StoreError(ValueError):
    """A store that cannot be used as it was meant."""


class StoreLockedError(StoreError):
    """Another process or thread is writing to the store."""


IndexKind = Literal["flat", "compressed"]


@dataclass(frozen=True)
class IndexFacts:
    """A vector index as it was built.

    Attributes:
        kind: ``"flat"`` (IVF_FLAT) or ``"compressed"`` (IVF_RQ).
        rows: How many vectors there were.
        probes: How many of its lists a query looks at.
        refined: How many times as many vectors as wanted are compared once more as they are; 0 for none.
        recall: The share of the ten nearest of an exact scan that it found, on a sample of queries.
    """

    kind: IndexKind
    rows: int
    probes: int
    refined: int
    recall: float


@dataclass(frozen=True)
class StoreState:
    """A store at one moment.

    Attributes:
        folder: The folder inside the store that holds the tables.
        encoder: Where the encoder was loaded from.
        digest: A hash of its weights, head and prompts.
        dim: Length of its vectors.
        has_replies: Whether messages have vectors of their own as candidates.
        pooling: How whole conversations are pooled.
        tokenizer: That of the full-text index; empty until the first texts are there, if it is to fit them.
        language: Its language, for stems and stop words.
        messages: The version of the table ``messages`` that counts.
        conversations: That of ``conversations``.
        indexes: The vector indexes: of messages (``vector``), of messages as candidates (``reply``), and of whole
            conversations (``conversation``).
        commits: How many batches were written since the tables were compacted.
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
    indexes: dict[str, IndexFacts] = field(default_factory=dict)
    commits: int = 0


def read_state(path: Path) -> StoreState:
    """The state of the store at a path.

    Raises:
        StoreError: There is none, or it was written by a later version of turnwise.
    """
    try:
        found: dict[str, Any] = json.loads((path / STATE_FILE).read_text(encoding="utf-8"))
        schema = found.pop("schema")
        if schema == _SCHEMA:
            return _state_of(found)
    except FileNotFoundError:
        raise StoreError(f"{path} is no store: make one with turnwise index DATA --store {path}") from None
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise StoreError(
            f"{path / STATE_FILE} is damaged: {error_line(error)}; copy it back from a backup, or delete the folder "
            "and index again"
        ) from error
    raise StoreError(f"{path} has schema {schema}, this version of turnwise reads {_SCHEMA}: update turnwise")


def _state_of(found: dict[str, Any]) -> StoreState:
    indexes = {column: IndexFacts(**facts) for column, facts in found.pop("indexes").items()}
    state = StoreState(**found, indexes=indexes)
    _check_types(state)
    for facts in indexes.values():
        _check_types(facts)
    if Path(state.folder).is_absolute() or ".." in Path(state.folder).parts:
        raise ValueError(f"folder is {state.folder!r}")
    return state


def _check_types(read: StoreState | IndexFacts) -> None:
    for setting in fields(read):
        value = getattr(read, setting.name)
        if not isinstance(value, _TYPES.get(str(setting.type), object)):
            raise TypeError(f"{setting.name} is {value!r}")


def write_state(path: Path, state: StoreState) -> None:
    """Commit: from here on, the versions of the state count."""
    with atomic_path(path / STATE_FILE) as temporary:
        temporary.write_text(json.dumps({"schema": _SCHEMA, **asdict(state)}, indent=2) + "\n", encoding="utf-8")


def state_stamp(path: Path) -> tuple[int, int] | None:
    """What differs after every commit, and costs nothing to ask; ``None`` where there is no store."""
    try:
        status = (path / STATE_FILE).stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_ino


@contextmanager
def writer_lock(path: Path, seconds: float) -> Iterator[None]:
    """Be the one writer of a store; the system takes the lock back from a process that dies.

    Args:
        path: The store.
        seconds: How long to wait for another writer.

    Raises:
        StoreLockedError: Another writes; names it.
    """
    path.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path / LOCK_FILE, timeout=seconds)
    try:
        lock.acquire()
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


def _holder(path: Path) -> str:
    try:
        holder = json.loads((path / _HOLDER).read_text(encoding="utf-8"))
        return f"process {holder['process']} on {holder['host']} since {holder['since']} UTC"
    except (OSError, ValueError, KeyError):
        return "another process"
