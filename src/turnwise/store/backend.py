"""What a store needs of the database that keeps its rows: two tables, what counts of them, and changes of both."""

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
        """How many fulfil a condition."""

    def rows(self, where: Condition, columns: Sequence[str]) -> pa.Table:
        """Those that fulfil a condition."""

    def batches(self, columns: Sequence[str], rows: int = 8192) -> Iterator[pa.RecordBatch]:
        """All of them, in no particular order."""

    def nearest(
        self,
        column: str,
        query: np.ndarray,
        where: Condition | None,
        count: int,
        columns: Sequence[str],
        index: IndexFacts | None = None,
    ) -> pa.Table:
        """Those with the greatest inner products, the best first, with these as ``score``.

        Args:
            column: The vectors.
            query: The query (dim,).
            where: What they must fulfil.
            count: How many.
            columns: What else to return.
            index: The index of the column; ``None`` looks at every row.
        """

    def matching(self, text: str, where: Condition | None, count: int, columns: Sequence[str]) -> pa.Table:
        """Those whose texts share the words of a text, the best first, with BM25 as ``score``."""

    def add(self, rows: pa.Table) -> None:
        """Add rows."""

    def delete(self, where: Condition) -> None:
        """Delete those that fulfil a condition."""


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
    """Changes of both tables, which count when `commit` has returned."""

    tables: Tables
    is_atomic: bool  # whether a batch counts as a whole or not at all

    def commit(self, **changes: Any) -> None:
        """Make what was written count, with other changes of the state."""

    def prepare_texts(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """See to it that texts can be searched, with the first rows at the latest; gives the tokenizer."""


class Backend(Protocol):
    """Where a store is."""

    def exists(self) -> bool:
        """Whether there is a store."""

    def create(self, encoder: StoreEncoder, tokenizer: str, language: str) -> None:
        """Make one."""

    def tables(self) -> Tables:
        """What was last committed, by whichever process."""

    def changes(self, seconds: float) -> AbstractContextManager[Changes]:
        """Change it, waiting so long for another writer where there can be one only."""

    def tidy(self, changes: Changes) -> None:
        """What is due after a batch."""

    def compact(self, changes: Changes, retention: timedelta, kind: IndexKind | None) -> None:
        """What `ConversationStore.compact` does."""

    def reindex(
        self, changes: Changes, encoder: StoreEncoder, seconds: float, progress: Callable[[int], None] | None
    ) -> None:
        """Move it to another encoder."""

    def erase(self, changes: Changes, ids: list[str], seconds: float, progress: Callable[[int], None] | None) -> int:
        """What `ConversationStore.erase` does."""

    def bytes(self) -> int:
        """Its size on disk; 0 where that is not known."""
