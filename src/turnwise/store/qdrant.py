"""A store on a Qdrant server: three collections, of messages, of conversations, and of the store's one state.

Qdrant changes one point at a time. A conversation's own point is taken away before anything of it changes and is
written last, so that it marks what is complete; ids of points come from ids of conversations, so that nothing is there
twice.
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
    """As `turnwise.store.backend.Backend`.

    Args:
        client: Qdrant's client.
        name: What the names of its collections begin with.
        is_server: Whether it has indexes.
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
            StoreError: The URL is none of these.
        """
        parts = urlsplit(url)
        name = parts.path.strip("/")
        if parts.scheme not in _SCHEMES or not parts.netloc or not name or "/" in name:
            raise StoreError(f"{url}: expected a folder, or qdrant://host:6333/collection")
        if parts.netloc == _MEMORY:
            return cls(_client(_MEMORY), name, is_server=False)
        return cls(_client(f"{_SCHEMES[parts.scheme]}://{parts.netloc}"), name)

    def exists(self) -> bool:
        """Whether there is a store."""
        return self._state() is not None

    def create(self, encoder: StoreEncoder, tokenizer: str, language: str) -> None:
        """Make one.

        Raises:
            StoreError: There are points of something else, or a tokenizer is asked for.
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
        """What is there.

        Raises:
            StoreError: There is none.
        """
        state = self._state()
        if state is None:
            raise StoreError(f"the collection {self._name} is no store: make one with turnwise index")
        return Tables(state, *self._tables(state))

    @contextmanager
    def changes(self, seconds: float) -> Iterator[QdrantChanges]:
        """Change it; nobody is kept from doing the same, and of two who write one conversation the later one wins."""
        yield QdrantChanges(self.tables(), self._write)

    def tidy(self, changes: Changes) -> None:
        """Nothing: Qdrant does that itself."""

    def compact(self, changes: Changes, retention: timedelta, kind: IndexKind | None) -> None:
        """Nothing, likewise.

        Raises:
            StoreError: A kind of index is asked for.
        """
        if kind is not None:
            raise StoreError("Qdrant builds its indexes itself: configure them on the server")

    def reindex(
        self, changes: Changes, encoder: StoreEncoder, seconds: float, progress: Callable[[int], None] | None
    ) -> None:
        """Raise `StoreError`: on a server, a store for another encoder is another collection."""
        raise StoreError(f"{self._name}: index into another collection with the other encoder, then delete this one")

    def erase(self, changes: Changes, ids: list[str], seconds: float, progress: Callable[[int], None] | None) -> int:
        """Raise `StoreError`: what becomes of deleted points on its disk is for the server to say."""
        raise StoreError(
            f"{self._name}: Qdrant removes what was deleted when it rewrites its segments; to be sure of it now, "
            "delete the conversations, export, index into another collection and remove this one"
        )

    def bytes(self) -> int:
        """0: only the server knows."""
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
        found = self._client.retrieve(self._states, [_STATE_POINT])
        return StoreState(**json.loads(found[0].payload["state"])) if found else None

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
    """As `turnwise.store.backend.Changes`; what was written counts at once, conversation by conversation."""

    is_atomic = False

    def __init__(self, tables: Tables, write: Callable[[StoreState], None]) -> None:
        self.tables = tables
        self._write = write

    def commit(self, **changes: Any) -> None:
        """Write the state, if it is another one."""
        state = replace(self.tables.state, **{**changes, "commits": 0})
        if state != self.tables.state:
            self._write(state)
        self.tables = replace(self.tables, state=state)

    def prepare_texts(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """Texts are searched as they come."""
        return _TOKENIZER


@cache
def _client(location: str) -> Any:
    """One client of each server in a process."""
    client = require("qdrant_client", "qdrant").QdrantClient
    return client(location) if location == _MEMORY else client(url=location, api_key=os.environ.get("QDRANT_API_KEY"))
