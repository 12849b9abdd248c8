"""Merging groups two at a time, in the manner of Ward: always the two whose union costs the least closeness.

The closeness of a group is the length of the sum of its vectors, which is the sum of their cosines with its mean. So
the union of two groups with sums a and b costs |a| + |b| − |a + b|. Ward, Journal of the American Statistical
Association 1963, with cosines in place of squared distances.
"""

from __future__ import annotations

import numpy as np

from turnwise._utils.vectors import FloatArray, IntArray


def merged(sums: FloatArray) -> IntArray:
    """How parts are grouped when there are 1, 2, … groups, up to as many as parts (parts, parts).

    Row c − 1 has the group of each part when there are c groups. A group is named by one of its parts.

    Args:
        sums: The sum of the vectors of each part (parts, dim).
    """
    sums = np.array(sums, np.float64)
    parts = len(sums)
    lengths = np.linalg.norm(sums, axis=1)
    unions = np.sqrt(np.maximum(lengths[:, None] ** 2 + lengths**2 + 2 * sums @ sums.T, 0))
    costs = lengths[:, None] + lengths - unions  # (parts, parts)
    np.fill_diagonal(costs, np.inf)
    levels = np.tile(np.arange(parts), (parts, 1))
    for groups in range(parts - 1, 0, -1):
        kept, gone = np.unravel_index(costs.argmin(), costs.shape)
        sums[kept] += sums[gone]
        lengths[kept] = np.linalg.norm(sums[kept])
        costs[gone], costs[:, gone] = np.inf, np.inf
        row = lengths[kept] + lengths - np.linalg.norm(sums + sums[kept], axis=1)
        costs[kept] = costs[:, kept] = np.where(np.isinf(costs[kept]), np.inf, row)
        levels[groups - 1] = np.where(levels[groups] == gone, kept, levels[groups])
    return levels
