"""A store on a Qdrant server: three collections, for messages, for conversations, and for the state of the store.

Qdrant changes one point at a time. A conversation's own point is deleted before anything in the conversation changes,
and is written last, so that it marks the conversation as complete. The ids of points are derived from those of
conversations, so that nothing is stored twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from turnwise._utils.optional import require
from turnwise.store.backend import Changes, Tables
from turnwise.store.qdrant_table import QdrantTable
from turnwise.store.records import conversation_schema, message_schema
from turnwise.store.state import IndexKind, StoreError, StoreState
from turnwise.store.tables import new_state

if TYPE_CHECKING:
    from turnwise.store.encoding import StoreEncoder

_SCHEMES = {"qdrant": "http", "qdrant+https": "https"}
_MEMORY = ":memory:"
_TOKENIZER = "words"  # see turnwise.store.words
_STATE_POINT = 1


class Qdrant:
    """A `turnwise.store.backend.Backend` on a Qdrant server.

    Args:
        client: Qdrant's client.
        name: The prefix of the names of its collections.
        is_server: Whether a server runs it, so that there are indexes.
    """

    def __init__(self, client: Any, name: str, is_server: bool = True) -> None:
        self._client = client
        self._name = name
        self._is_server = is_server

    @classmethod
    def at(cls, url: str) -> Self:
        """The store at ``qdrant://host:6333/collection`` (``qdrant+https://…``); the key is in ``QDRANT_API_KEY``.

        ``qdrant://:memory:/collection`` needs no server and lasts as long as the process.

        Raises:
            StoreError: The URL has another form.
        """
        parts = urlsplit(url)
        name = parts.path.strip("/")
        if parts.scheme not in _SCHEMES or not parts.netloc or not name or "/" in name:
            raise StoreError(f"{url}: expected a folder, or qdrant://host:6333/collection")
        if parts.netloc == _MEMORY:
            return cls(_client(_MEMORY), name, is_server=False)
        return cls(_client(f"{_SCHEMES[parts.scheme]}://{parts.netloc}"), name)

    def exists(self) -> bool:
        """Whether a store exists there."""
        return self._state() is not None

    def create(self, encoder: StoreEncoder, tokenizer: str, language: str) -> None:
        """Create an empty store.

        Raises:
            StoreError: The collections hold other points, or a tokenizer is given.
        """
        if tokenizer not in ("", _TOKENIZER):
            raise StoreError(f"a store on Qdrant finds texts by whole words, not with the tokenizer {tokenizer!r}")
        state = replace(new_state(encoder, _TOKENIZER, ""), folder="")
        for table in self._tables(state):
            if self._client.collection_exists(table.collection) and table.count_rows():
                raise StoreError(f"{table.collection} holds something else than a store: choose another collection")
            table.create(with_indexes=self._is_server)
        self._write(state)

    def tables(self) -> Tables:
        """The tables as they are now.

        Raises:
            StoreError: There is no store.
        """
        state = self._state()
        if state is None:
            raise StoreError(f"the collection {self._name} is no store: make one with turnwise index")
        return Tables(state, *self._tables(state))

    @contextmanager
    def changes(self, seconds: float) -> Iterator[QdrantChanges]:
        """Begin to write. Others may write at the same time; if two write the same conversation, the later one wins."""
        yield QdrantChanges(self.tables(), self._write)

    def tidy(self, changes: Changes) -> None:
        """Do nothing, since Qdrant maintains itself."""

    def compact(self, changes: Changes, retention: timedelta, kind: IndexKind | None) -> None:
        """Do nothing, since Qdrant maintains itself.

        Raises:
            StoreError: A kind of index is asked for.
        """
        if kind is not None:
            raise StoreError("Qdrant builds its indexes itself: configure them on the server")

    def reindex(
        self, changes: Changes, encoder: StoreEncoder, seconds: float, progress: Callable[[int], None] | None
    ) -> None:
        """Raise `StoreError`: on a server, each encoder needs a collection of its own."""
        raise StoreError(f"{self._name}: index into another collection with the other encoder, then delete this one")

    def erase(self, changes: Changes, ids: list[str], seconds: float, progress: Callable[[int], None] | None) -> int:
        """Raise `StoreError`: only the server decides when deleted points leave its disk."""
        raise StoreError(
            f"{self._name}: Qdrant removes what was deleted when it rewrites its segments; to be sure of it now, "
            "delete the conversations, export, index into another collection and remove this one"
        )

    def bytes(self) -> int:
        """Return 0, since only the server knows the size."""
        return 0

    def _tables(self, state: StoreState) -> tuple[QdrantTable, QdrantTable]:
        return (
            QdrantTable(self._client, self._name, message_schema(state.dim, state.has_replies)),
            QdrantTable(self._client, f"{self._name}-conversations", conversation_schema(state.dim)),
        )

    @property
    def _states(self) -> str:
        return f"{self._name}-state"

    def _state(self) -> StoreState | None:
        if not self._client.collection_exists(self._states):
            return None
        points = self._client.retrieve(self._states, [_STATE_POINT])
        return StoreState(**json.loads(points[0].payload["state"])) if points else None

    def _write(self, state: StoreState) -> None:
        models = require("qdrant_client.models", "qdrant")
        if not self._client.collection_exists(self._states):
            size = models.VectorParams(size=1, distance=models.Distance.DOT)
            self._client.create_collection(self._states, vectors_config=size)
        payload = {"state": json.dumps(asdict(state))}
        self._client.upsert(
            self._states, [models.PointStruct(id=_STATE_POINT, vector=[0.0], payload=payload)], wait=True
        )


class QdrantChanges:
    """A `turnwise.store.backend.Changes` that is not atomic: each conversation takes effect when it is written."""

    is_atomic = False

    def __init__(self, tables: Tables, write: Callable[[StoreState], None]) -> None:
        self.tables = tables
        self._write = write

    def commit(self, **changes: Any) -> None:
        """Write the state, if it has changed."""
        state = replace(self.tables.state, **{**changes, "commits": 0})
        if state != self.tables.state:
            self._write(state)
        self.tables = replace(self.tables, state=state)

    def prepare_texts(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """Do nothing, since texts can be searched as soon as they are written; return the tokenizer."""
        return _TOKENIZER


@cache
def _client(location: str) -> Any:
    """The client of a server; a process has one for each server."""
    client = require("qdrant_client", "qdrant").QdrantClient
    return client(location) if location == _MEMORY else client(url=location, api_key=os.environ.get("QDRANT_API_KEY"))
