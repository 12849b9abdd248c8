"""K-means for few vectors: with some hundreds, that of scikit-learn spends most of its time on checks of its own."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from turnwise._utils.vectors import FloatArray, IntArray

_ROUNDS = 300
_TOLERANCE = 1e-4  # of the variance of the vectors


def k_means(vectors: FloatArray, count: int, seed: int) -> FloatArray:
    """Centres (count, dim) of groups of vectors (vectors, dim); one that loses all its vectors stays where it is.

    Where none does, they are those of ``sklearn.cluster.KMeans`` with one start from this seed, but for rounding.
    """
    centres = _far_apart(vectors, count, seed)
    tolerance = _TOLERANCE * vectors.var(axis=0).mean()
    for _ in range(_ROUNDS):
        member = (nearest_centre(vectors, centres) == np.arange(count)[:, None]).astype(vectors.dtype)
        size = member.sum(axis=1, keepdims=True)
        means = np.where(size > 0, member @ vectors / np.maximum(size, 1), centres)
        moved = ((means - centres) ** 2).sum()
        centres = means
        if moved <= tolerance:
            break
    return centres


def nearest_centre(vectors: FloatArray, centres: FloatArray) -> IntArray:
    """The number of the centre that is nearest to each vector (vectors,)."""
    return (vectors @ centres.T - (centres**2).sum(axis=1) / 2).argmax(axis=1)


def _far_apart(vectors: FloatArray, count: int, seed: int) -> FloatArray:
    """Vectors that are far apart, by greedy k-means++ (count, dim)."""
    random, squares = check_random_state(seed), (vectors**2).sum(axis=1)

    def away(chosen: IntArray) -> FloatArray:
        """Squared distances (chosen, vectors)."""
        return np.maximum(squares + squares[chosen, None] - 2 * (vectors @ vectors[chosen].T).T, 0)

    trials = 2 + int(np.log(count))
    starts = [random.choice(len(vectors), p=np.full(len(vectors), 1 / len(vectors)))]
    distances = away(np.array(starts))[0]
    while len(starts) < count:
        sums = np.cumsum(distances, dtype=np.float64)
        tried = np.minimum(np.searchsorted(sums, random.uniform(size=trials) * sums[-1]), len(vectors) - 1)
        nearer = np.minimum(distances, away(tried))
        best = nearer.sum(axis=1).argmin()
        starts.append(tried[best])
        distances = nearer[best]
    return vectors[starts]
