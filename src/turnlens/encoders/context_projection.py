"""A projection of message vectors by their context, without training: alike are messages with alike neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from turnlens._utils.vectors import BoolArray, FloatArray, IntArray, LazyVectors, Vectors, unit_vectors, with_ridge

_WINDOW = 2  # messages before, and as many after
_RIDGE = 0.3  # of the mean variance, added to each
LEAST_TAUGHT = 2  # messages for each dimension; of fewer, too little can be learned
MOST_TAUGHT = 50_000  # messages, spread over all


@dataclass(frozen=True)
class ContextProjection:
    """A linear projection of message vectors that was fitted to the messages around them.

    Attributes:
        mean: The mean of the vectors (dim,).
        matrix: What they are multiplied by without it (dim, dim).
        messages: How many messages there were when it was learned.
    """

    mean: FloatArray
    matrix: FloatArray
    messages: int

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """The projections of vectors (n, dim), of length 1."""
        return unit_vectors((vectors - self.mean) @ self.matrix)

    def of_each(self, vectors: Vectors) -> LazyVectors:
        """The projections of vectors (n, dim), perhaps memory-mapped, as rows of them are taken."""
        return LazyVectors(len(vectors), lambda rows: self(vectors[rows]))


def fit_context_projection(vectors: FloatArray, conversation: IntArray, usable: BoolArray) -> ContextProjection | None:
    """Learn a projection from the order of messages.

    Canonical correlation analysis (Hotelling 1936) between each message and the mean of the two before and the two
    after it tells how alike what is around two messages should be; half of that, and half of how alike they are by
    themselves, is how alike their projections are. There are no steps and no seed.

    Args:
        vectors: The vectors of messages, of length 1, perhaps memory-mapped (n, dim).
        conversation: The conversation of each, those of one in a row (n,).
        usable: Which of them say anything (n,).

    Returns:
        The projection; ``None`` if there are fewer messages with others around them than twice the dimensions, or all
        say the same.
    """
    rows = np.flatnonzero(usable & (conversation % (len(conversation) // MOST_TAUGHT + 1) == 0))
    of = conversation[rows]
    pairs = []
    for distance in range(1, _WINDOW + 1):
        earlier = np.flatnonzero(of[distance:] == of[:-distance])
        pairs += [(earlier, earlier + distance), (earlier + distance, earlier)]
    count = np.bincount(np.concatenate([messages for messages, _ in pairs]), minlength=len(rows))
    has_others = count > 0
    if has_others.sum() < LEAST_TAUGHT * vectors.shape[1]:
        return None
    own = np.array(vectors[rows], np.float32)
    mean = own.mean(0)
    own -= mean
    around = np.zeros_like(own)
    for messages, others in pairs:
        around[messages] += own[others]
    if not around.any():
        return None
    spread = own.T @ own
    inside, outside = own[has_others], around[has_others] / count[has_others, None]
    weights = np.linalg.solve(with_ridge(inside.T @ inside, _RIDGE), inside.T @ outside)
    alike = weights @ np.linalg.solve(with_ridge(outside.T @ outside, _RIDGE), weights.T)
    alike = alike / np.trace(alike @ spread) + np.eye(len(alike)) / np.trace(spread)
    values, axes = np.linalg.eigh(alike)
    matrix = (axes * np.sqrt(np.maximum(values, 0))) @ axes.T
    return ContextProjection(mean, (matrix / matrix.max()).astype(np.float32), len(vectors))
