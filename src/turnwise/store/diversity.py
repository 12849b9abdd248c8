"""Maximal marginal relevance: hits that differ from each other."""

from __future__ import annotations

import numpy as np

from turnwise._utils.vectors import FloatArray


def diverse(scores: FloatArray, vectors: FloatArray, count: int, diversity: float) -> list[int]:
    """Choose rows one by one, by score minus similarity to the rows already chosen (Carbonell & Goldstein, SIGIR 1998).

    Args:
        scores: The score of each row, higher is better; scaled to 0 … 1 (n,).
        vectors: The vectors of the rows, of length 1 (n, dim).
        count: How many to choose.
        diversity: With 0 only the score counts, with 1 only the difference.

    Returns:
        Their numbers, in the order chosen.

    Raises:
        ValueError: ``diversity`` is not from 0 to 1.
    """
    if not 0 <= diversity <= 1:
        raise ValueError(f"diversity must be from 0 to 1, got {diversity}")
    if not len(scores):
        return []
    spread = float(np.ptp(scores)) or 1.0
    relevance = (1 - diversity) * (np.asarray(scores) - np.min(scores)) / spread
    similarities = diversity * (vectors @ vectors.T)  # (n, n)
    likeness = np.full(len(scores), -float(diversity))  # similarity to the most similar row chosen
    chosen: list[int] = []
    for _ in range(min(count, len(scores))):
        chosen.append(int(np.argmax(relevance - likeness)))
        relevance[chosen[-1]] = -np.inf
        np.maximum(likeness, similarities[chosen[-1]], out=likeness)
    return chosen
