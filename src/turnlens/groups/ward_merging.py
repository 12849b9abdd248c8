"""Merging groups two at a time, in the manner of Ward: always the two whose union costs the least closeness.

The closeness of a group is the length of the sum of its vectors, which is the sum of their cosines with its mean. So
the union of two groups with sums a and b costs |a| + |b| − |a + b|. Ward, Journal of the American Statistical
Association 1963, with cosines in place of squared distances.
"""

from __future__ import annotations

import numpy as np

from turnlens._utils.vectors import FloatArray, IntArray

_USUAL = 3  # of the others that a part is most like: twins are much more alike than a part and its third
_LEAST_WITHIN = 1e-4  # mean cosine within a group, so that it can be divided by


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


def joined(sums: FloatArray, sizes: IntArray, least: float) -> IntArray:
    """The group of each part (parts,), after the two that are most alike are joined as long as they are alike enough.

    Two groups are as alike as the mean cosine of their vectors is large beside those within each of them. The cosine of
    a vector with itself is left out, since it would make small groups look unlike all others.

    Args:
        sums: The sum of the vectors of each part, each of length 1 (parts, dim).
        sizes: How many vectors each part has (parts,).
        least: How alike two groups must be: from 0, as most parts are to the third that is most like them, to 1,
            as a group is to itself. Among few parts the third may be far away: 0 is at least the mean cosine of all.
    """
    sums, sizes = np.array(sums, np.float64), np.array(sizes, np.float64)
    products = sums @ sums.T  # (groups, groups)
    groups, needed = np.arange(len(sizes)), None
    while len(sizes) > 1:
        within = (products.diagonal() - sizes) / np.maximum(sizes * (sizes - 1), 1)
        lengths = sizes * np.sqrt(np.maximum(within, _LEAST_WITHIN))
        alike = products / np.outer(lengths, lengths)
        np.fill_diagonal(alike, -np.inf)
        if needed is None:
            usual = float(np.median(np.sort(alike)[:, max(-_USUAL, 1 - len(sizes))]))
            usual = max(usual, (products.sum() - sizes.sum()) / (sizes.sum() * (sizes.sum() - 1)))
            needed = usual + least * (1 - usual)
        kept, gone = sorted(np.unravel_index(alike.argmax(), alike.shape))
        if alike[kept, gone] < needed:
            break
        products[kept] += products[gone]
        products[:, kept] += products[:, gone]
        sizes[kept] += sizes[gone]
        products, sizes = np.delete(np.delete(products, gone, 0), gone, 1), np.delete(sizes, gone)
        groups = np.where(groups == gone, kept, groups)
        groups -= groups > gone
    return groups
