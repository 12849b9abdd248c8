"""A running conversation as the turn-order head sees it: the last turns, each mapped once when it is added."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import torch

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


def composed_plan_scores(
    head: TurnOrderHead,
    context: FloatArray,
    same: Sequence[bool],
    candidates: FloatArray,
    candidate_same: bool,
    goal: FloatArray,
) -> FloatArray:
    """How well the goal would follow on each candidate, said after the context; higher is better.

    Args:
        head: The head.
        context: Vectors of the turns so far, oldest first (n, dim).
        same: Whether a turn's speaker is the goal's (n,).
        candidates: Vectors of the candidates (m, dim).
        candidate_same: Whether the candidates' speaker is the goal's.
        goal: The goal's vector (dim,).

    Returns:
        (m,) cosines.
    """
    recency, maps = head.recency.detach().cpu().numpy(), head.context.detach().cpu().numpy()

    def mapped(vectors: FloatArray, relation: int) -> FloatArray:
        return unit_vectors(vectors) @ (np.eye(maps.shape[1], dtype=np.float32) + maps[relation]).T

    relation = SAME if candidate_same else OTHER
    queries = recency[relation, 0] * mapped(candidates, relation)  # the candidate is the latest turn
    for place, (vector, is_same) in enumerate(zip(context[::-1], reversed(same)), start=1):
        if place < head.turns:
            relation = SAME if is_same else OTHER
            queries = queries + recency[relation, place] * mapped(vector[None], relation)
    with torch.inference_mode():
        target = head.candidates(torch.from_numpy(unit_vectors(goal[None]).astype(np.float32)))[0].numpy()
    return np.asarray(unit_vectors(queries) @ target)
