"""A running conversation as the turn-order head sees it: the last turns, each mapped once when it is added."""

from __future__ import annotations

from collections import deque

import numpy as np

from turnwise._utils.vectors import FloatArray, unit_vectors
from turnwise.encoders.turn_order_head import OTHER, SAME, TurnOrderHead


class ComposedContext:
    """The state of a conversation whose next speaker is known.

    A further turn costs O(dim²), a query O(turns · dim), whatever the length of the conversation.

    Args:
        head: The head.
    """

    def __init__(self, head: TurnOrderHead) -> None:
        self._recency = head.recency.detach().cpu().numpy()  # (2, D)
        self._maps = np.eye(head.context.shape[1], dtype=np.float32) + head.context.detach().cpu().numpy()
        self._turns: deque[tuple[int, FloatArray]] = deque(maxlen=head.turns)  # the latest first

    def add(self, vector: FloatArray, same: bool) -> None:
        """Add a turn: its vector (dim,), and whether its speaker is the one who speaks next."""
        relation = SAME if same else OTHER
        self._turns.appendleft((relation, self._maps[relation] @ unit_vectors(vector)))

    def query(self) -> FloatArray:
        """The query for the next utterance, of length 1 (dim,)."""
        weights = [self._recency[relation, place] for place, (relation, _) in enumerate(self._turns)]
        return unit_vectors(np.asarray(weights, np.float32) @ np.stack([mapped for _, mapped in self._turns]))
