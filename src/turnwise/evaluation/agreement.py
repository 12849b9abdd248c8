"""How far two encoders agree on texts without labels: the cosines of pairs, and the nearest neighbours."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np

from turnwise._utils.vectors import FloatArray, unit_vectors


def sample_texts(texts: Iterable[str], count: int, seed: int) -> list[str]:
    """At most ``count`` of the distinct texts, at random."""
    distinct = list(dict.fromkeys(texts))
    return random.Random(seed).sample(distinct, min(len(distinct), count))


def agreement(vectors: FloatArray, others: FloatArray, neighbours: int = 10) -> dict[str, float | int]:
    """Compare two encoders' vectors of the same texts.

    Args:
        vectors: The vectors of one encoder (texts, dim). The comparison takes texts² numbers in memory.
        others: The vectors of the other encoder (texts, other dim).
        neighbours: How many nearest texts of each are compared.

    Returns:
        ``cosine_correlation``, Pearson's correlation of the cosines of all pairs, in percent; ``shared_neighbours``,
        the mean share of nearest texts that both encoders have in common, in percent; and the number of ``pairs``.

    Raises:
        ValueError: There are not more texts than neighbours.

    >>> turned = np.array([[0.0, 1.0], [1.0, 0.0], [0.6, 0.8]])
    >>> agreement(np.array([[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]]), turned, neighbours=1)
    {'cosine_correlation': 100.0, 'shared_neighbours': 100.0, 'pairs': 3}
    """
    if len(vectors) <= neighbours:
        raise ValueError(f"expected more than {neighbours} distinct texts to compare, got {len(vectors)}")
    above = np.triu_indices(len(vectors), 1)
    cosines, nearest = [], []
    for embeddings in (vectors, others):
        unit = unit_vectors(np.asarray(embeddings, dtype=np.float64))
        scores = unit @ unit.T
        cosines.append(scores[above])
        np.fill_diagonal(scores, -np.inf)
        nearest.append(np.argpartition(-scores, neighbours - 1, axis=1)[:, :neighbours])
    shared = np.mean([len(np.intersect1d(*both)) for both in zip(*nearest)]) / neighbours
    return {
        "cosine_correlation": round(100 * float(np.asarray(np.corrcoef(cosines))[0, 1]), 6),
        "shared_neighbours": 100 * float(shared),
        "pairs": len(cosines[0]),
    }
