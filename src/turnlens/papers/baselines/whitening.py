"""Whitening of embeddings: mean zero, covariance the identity (Su et al., Whitening Sentence Representations, 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from turnlens.papers.baselines.baseline import UtteranceBaseline, fitted, utterances

# Directions whose variance is less than this share of the largest hold rounding errors, which whitening would blow up.
_NEGLIGIBLE = 1e-6


class Whitening:
    """Whitens another baseline's embeddings: ``(x - mean) W``, learned on the conversations' distinct utterances.

    Args:
        base: The baseline whose embeddings are whitened; it is fitted first, on the same conversations.
        dim: Keep this many directions, those with the most variance; by default all. Directions without variance are
            always left out, so that few texts give few dimensions.
    """

    def __init__(self, base: UtteranceBaseline, dim: int | None = None) -> None:
        if dim is not None and dim < 1:
            raise ValueError(f"dim must be 1 or more, got {dim}")
        self.base = base
        self.dim = dim
        self.mean: NDArray[np.float64] | None = None
        self.matrix: NDArray[np.float64] | None = None

    def fit(self, conversations: Any) -> Self:
        """Learn mean and covariance.

        Raises:
            ValueError: There is no text, or all texts have the same embedding.
        """
        embeddings = self.base.fit(conversations).encode_messages(utterances(conversations)).astype(np.float64)
        self.mean = embeddings.mean(axis=0)
        self.matrix = whitening_matrix(embeddings - self.mean, self.dim)
        return self

    def encode_messages(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts, float32 (texts, dim)."""
        mean, matrix = fitted(self.mean, self), fitted(self.matrix, self)
        return ((self.base.encode_messages(texts) - mean) @ matrix).astype(np.float32)


def whitening_matrix(centred: NDArray[np.float64], dim: int | None = None) -> NDArray[np.float64]:
    """``U Λ^(-1/2)`` of the covariance ``U Λ Uᵀ``, the directions of most variance first.

    Args:
        centred: (rows, features) with mean zero.
        dim: Keep at most this many directions.

    Returns:
        (features, directions)

    Raises:
        ValueError: There is no variance.
    """
    variances, directions = np.linalg.eigh(centred.T @ centred / len(centred))
    variances, directions = variances[::-1], directions[:, ::-1]
    if not variances[0] > 0:
        raise ValueError("all texts have the same embedding: there is nothing to whiten")
    kept = variances > _NEGLIGIBLE * variances[0]
    matrix: NDArray[np.float64] = directions[:, kept] / np.sqrt(variances[kept])
    return matrix[:, :dim]
