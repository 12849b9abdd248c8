"""What a store needs from its database: two tables, their committed state, and transactions that change both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from turnwise.store.conditions import Condition
from turnwise.store.state import IndexFacts, IndexKind, StoreState

if TYPE_CHECKING:
    from turnwise.store.encoding import StoreEncoder


class Table(Protocol):
    """Rows of one kind: of messages, or of conversations."""

    @property
    def schema(self) -> pa.Schema:
        """The columns."""

    def count_rows(self, where: Condition | None = None) -> int:
        """Count the rows that fulfil a condition."""

    def rows(self, where: Condition, columns: Sequence[str]) -> pa.Table:
        """The rows that fulfil a condition."""

    def batches(self, columns: Sequence[str], rows: int = 8192) -> Iterator[pa.RecordBatch]:
        """All rows, in no particular order."""

    def nearest(
        self,
        column: str,
        query: np.ndarray,
        where: Condition | None,
        count: int,
        columns: Sequence[str],
        index: IndexFacts | None = None,
    ) -> pa.Table:
        """The rows whose vectors have the greatest inner products with a query, best first, as ``score``.

        Args:
            column: The column of vectors to compare with.
            query: The query (dim,).
            where: The condition that the rows must fulfil.
            count: The number of rows to return.
            columns: The further columns to return.
            index: The index of the column; with ``None`` every row is compared.
        """

    def matching(self, text: str, where: Condition | None, count: int, columns: Sequence[str]) -> pa.Table:
        """The rows whose texts share words with a text, best first, with BM25 as ``score``."""

    def add(self, rows: pa.Table) -> None:
        """Add rows."""

    def delete(self, where: Condition) -> None:
        """Delete the rows that fulfil a condition."""


@dataclass(frozen=True)
class Tables:
    """The two tables of a store.

    Attributes:
        state: The state of the store.
        messages: A row for each message.
        conversations: A row for each conversation.
    """

    state: StoreState
    messages: Table
    conversations: Table


class Changes(Protocol):
    """A transaction over both tables; its changes take effect when `commit` has returned."""

    tables: Tables
    is_atomic: bool  # whether a batch is either written as a whole or not at all

    def commit(self, **changes: Any) -> None:
        """Commit what was written, together with other changes of the state."""

    def prepare_texts(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """Prepare the search for words when the first rows are written, and return the name of its tokenizer."""


class Backend(Protocol):
    """The database of a store at one place."""

    def exists(self) -> bool:
        """Whether a store exists there."""

    def create(self, encoder: StoreEncoder, tokenizer: str, language: str) -> None:
        """Create an empty store."""

    def tables(self) -> Tables:
        """The tables as last committed by any process."""

    def changes(self, seconds: float) -> AbstractContextManager[Changes]:
        """Begin a transaction. If only one writer is allowed, wait at most ``seconds`` for another one to finish."""

    def tidy(self, changes: Changes) -> None:
        """Do the maintenance that is due after a batch."""

    def compact(self, changes: Changes, retention: timedelta, kind: IndexKind | None) -> None:
        """See `ConversationStore.compact`."""

    def reindex(
        self, changes: Changes, encoder: StoreEncoder, seconds: float, progress: Callable[[int], None] | None
    ) -> None:
        """Move the store to another encoder."""

    def erase(self, changes: Changes, ids: list[str], seconds: float, progress: Callable[[int], None] | None) -> int:
        """See `ConversationStore.erase`."""

    def bytes(self) -> int:
        """The size of the store on disk in bytes; 0 where that is not known."""
