"""A running conversation as the reply head sees it: the last turns, each mapped once when it is added."""

from __future__ import annotations

from collections import deque

import numpy as np

from turnlens._utils.vectors import FloatArray, unit_vectors
from turnlens.encoders.head_arrays import OTHER, SAME, HeadArrays


class ComposedContext:
    """The state of a conversation whose next speaker is known.

    A further turn costs O(dim²), a query O(turns · dim), whatever the length of the conversation.

    Args:
        head: The head.
    """

    def __init__(self, head: HeadArrays) -> None:
        self._recency = head.recency  # (2, D)
        self._maps = np.eye(head.context.shape[1], dtype=np.float32) + head.context
        self._turns: deque[tuple[int, FloatArray]] = deque(maxlen=head.turns)  # the latest first

    def add(self, vector: FloatArray, same: bool) -> None:
        """Add a turn: its vector (dim,), and whether its speaker is the one who speaks next."""
        relation = SAME if same else OTHER
        self._turns.appendleft((relation, self._mapped(vector, relation)))

    def query(self) -> FloatArray:
        """The query for the next message, of length 1 (dim,)."""
        return unit_vectors(self._sum(start=0))

    def queries_after(self, vectors: FloatArray, same: bool) -> FloatArray:
        """For each of several turns, the query as it would be if that turn came next; no turn is added.

        Args:
            vectors: The vectors of the turns (m, dim).
            same: Whether their speaker is the one who speaks after them.

        Returns:
            (m, dim), of length 1.
        """
        relation = SAME if same else OTHER
        return unit_vectors(self._recency[relation, 0] * self._mapped(vectors, relation) + self._sum(start=1))

    def _mapped(self, vectors: FloatArray, relation: int) -> FloatArray:
        """Vectors (..., dim) of turns as they enter a query, before they are weighted."""
        return unit_vectors(vectors) @ self._maps[relation].T

    def _sum(self, start: int) -> FloatArray:
        """The turns so far, weighted as if ``start`` turns had followed them (dim,)."""
        total = np.zeros(self._maps.shape[1], np.float32)
        for place, (relation, mapped) in zip(range(start, self._recency.shape[1]), self._turns):
            total = total + self._recency[relation, place] * mapped
        return total
