"""Pieces of conversations and random utterances of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset
from torch import Tensor

_TRIES = 100


class UtterancePool:
    """All utterances of a corpus, to be drawn at random by role. The texts stay in the memory-mapped Arrow file.

    Args:
        conversations: The corpus, with columns ``id`` and ``messages``.

    Raises:
        ValueError: Fewer than two conversations.
    """

    def __init__(self, conversations: Dataset) -> None:
        if len(conversations) < 2:
            raise ValueError(f"mixed dialogues need at least 2 conversations, got {len(conversations)}")
        table = conversations.select_columns(["messages"]).flatten_indices().with_format("arrow")[:]
        contents, roles, owners, start = [], [], [], 0
        for chunk in table.column("messages").chunks:
            messages = chunk.flatten()
            contents.append(messages.field("content"))
            roles.append(messages.field("role"))
            owners.append(np.asarray(pc.list_parent_indices(chunk)) + start)
            start += len(chunk)
        self._contents = pa.chunked_array(contents)
        codes = pa.chunked_array(roles).combine_chunks().dictionary_encode()
        self._owner = np.concatenate(owners)  # (utterances,), in rising order
        self._start = np.searchsorted(self._owner, np.arange(len(conversations) + 1))  # (conversations + 1,)
        self._role = np.asarray(codes.indices)  # (utterances,)
        self._codes = {name: code for code, name in enumerate(codes.dictionary.to_pylist())}
        self._of_role = [np.flatnonzero(self._role == code) for code in range(len(self._codes))]
        self._number = {name: number for number, name in enumerate(conversations["id"])}
        if len(self._number) < len(conversations):
            raise ValueError("conversation ids must be unique: utterances are drawn from conversations of other ids")

    def draw(self, role: str | None, conversation: str, generator: random.Random) -> str:
        """A random utterance of that role (None: any) from another conversation; of any role if no other one has it."""
        number = self._number.get(conversation, -1)
        for members in (self._of_role[self._codes[role]] if role in self._codes else (), range(len(self._owner))):
            for _ in range(_TRIES if len(members) else 0):
                position = int(members[generator.randrange(len(members))])
                if self._owner[position] != number:
                    return str(self._contents[position].as_py())
        raise ValueError(f"no utterance outside the conversation {conversation!r} found to mix in")

    def draw_by_conversation(self, role: str | None, conversation: str, generator: random.Random) -> str:
        """As `draw`, but another conversation is drawn first and then one of its utterances.

        An utterance of a short conversation is then more likely than one of a long conversation.
        """
        own, code = self._number.get(conversation, -1), self._codes.get(role) if role is not None else None
        for _ in range(_TRIES):
            number = generator.randrange(len(self._start) - 1)
            members = np.arange(self._start[number], self._start[number + 1])
            if code is not None:
                members = members[self._role[members] == code]
            if number != own and len(members):
                return str(self._contents[int(members[generator.randrange(len(members))])].as_py())
        return self.draw(role, conversation, generator)  # few other conversations have that role


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


@dataclass(frozen=True)
class PieceCollator:
    """Looks pieces up in the memory-mapped conversations, and has another collator collate them.

    Args:
        collate: The collator. It is given rows with ``id``, ``messages`` and the other columns of a piece.
        conversations: The conversations that the pieces were cut from.
    """

    collate: Collate
    conversations: Dataset

    valid_label_columns: ClassVar[list[str]] = []

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
    """Return how many messages each conversation has (conversations,)."""
    table = conversations.select_columns(["messages"]).flatten_indices().with_format("arrow")[:]
    return np.asarray(pc.list_value_length(table.column("messages"))).astype(np.int64)


def _numbered(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From the number of items in each row: the row of each item, and its number within the row."""
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
