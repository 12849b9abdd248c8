"""Data sets whose rows are pieces of conversations, so that a batch mixes windows or samples of many of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc
from datasets import Dataset
from torch import Tensor

Collate = Callable[[Sequence[dict[str, Any]]], dict[str, Tensor]]


def cut_windows(conversations: Dataset, length: int) -> Dataset:
    """All windows of ``length`` consecutive messages.

    Returns:
        Columns ``row``, the number of the conversation, and ``start`` and ``end``, the messages of the window.
    """
    counts = _message_counts(conversations)
    row, start = _numbered(np.maximum(counts - length + 1, 0))
    return Dataset.from_dict({"row": row, "start": start, "end": start + length})


def cut_samples(conversations: Dataset, context_turns: int) -> Dataset:
    """Each message as a response, with up to ``context_turns`` messages on either side.

    Returns:
        The columns of `cut_windows`, and ``response``, the position of the response in its piece. Responses without any
        context are left out.
    """
    counts = _message_counts(conversations)
    row, turn = _numbered(np.where(counts > 1, counts, 0))
    start, end = np.maximum(turn - context_turns, 0), np.minimum(turn + context_turns + 1, counts[row])
    return Dataset.from_dict({"row": row, "start": start, "end": end, "response": turn - start})


class PieceCollator:
    """Looks pieces up in the memory-mapped conversations, and has another collator collate them.

    Args:
        collate: The collator. It is given rows with ``id``, ``messages`` and the other columns of a piece.
        conversations: The conversations that the pieces were cut from.
    """

    def __init__(self, collate: Collate, conversations: Dataset) -> None:
        self.collate = collate
        self.conversations = conversations
        self.valid_label_columns: list[str] = []

    def set_epoch(self, epoch: int) -> None:
        """Tell the collator the epoch, if it has a ``set_epoch``."""
        if hasattr(self.collate, "set_epoch"):
            self.collate.set_epoch(epoch)

    def __call__(self, pieces: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        """Collate a batch of pieces."""
        rows = []
        for piece in pieces:
            row = self.conversations[piece["row"]]
            rows.append({**piece, "id": row["id"], "messages": row["messages"][piece["start"] : piece["end"]]})
        return self.collate(rows)


def _message_counts(conversations: Dataset) -> np.ndarray:
    """How many messages each conversation has (conversations,)."""
    table = conversations.select_columns(["messages"]).flatten_indices().with_format("arrow")[:]
    return np.asarray(pc.list_value_length(table.column("messages"))).astype(np.int64)


def _numbered(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From the number of items in each row: the row of each item, and its number within the row."""
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
