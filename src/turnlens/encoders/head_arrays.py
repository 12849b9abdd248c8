"""The weights of a reply head as arrays, for using it without torch, which takes seconds to import."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from turnlens._utils.vectors import BoolArray, FloatArray, unit_vectors

SAME, OTHER = 0, 1  # the speaker of a turn, seen from the candidate's


class HeadArrays(NamedTuple):
    """The weights of a `turnlens.encoders.reply_head.ReplyHead`, which says what they mean.

    Attributes:
        recency: w (2, turns).
        context: W (2, dim, dim).
        candidate: C (dim, dim).
    """

    recency: FloatArray
    context: FloatArray
    candidate: FloatArray

    @property
    def turns(self) -> int:
        """How many turns back the head looks."""
        return self.recency.shape[1]

    def map_candidates(self, vectors: FloatArray) -> FloatArray:
        """Vectors of any length (m, dim) as candidates, float32 (m, dim) of length 1."""
        units = unit_vectors(vectors).astype("float32")
        return unit_vectors(units + units @ self.candidate.T)

    def queries(self, vectors: FloatArray, same: BoolArray, present: BoolArray) -> FloatArray:
        """The queries of contexts, of length 1 (contexts, dim), as from `turnlens.encoders.reply_head.ReplyHead`."""
        weights = np.where(same, self.recency[SAME], self.recency[OTHER]) * present  # (contexts, turns)
        query = _weighted(weights, vectors)
        for relation, of_relation in ((SAME, same), (OTHER, ~same)):
            query = query + _weighted(weights * of_relation, vectors) @ self.context[relation].T
        return unit_vectors(query)


def _weighted(weights: FloatArray, vectors: FloatArray) -> FloatArray:
    """Sums of weighted vectors: (contexts, turns) and (contexts, turns, dim) to (contexts, dim)."""
    return (weights[:, None].astype(np.float32) @ vectors)[:, 0]
