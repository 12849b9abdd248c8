"""Communities of a neighbour graph, and their merging two at a time.

Traag et al., From Louvain to Leiden, Scientific Reports 2019. The graph is that of Phenograph (Levine et al., Cell
2015): two vectors are joined if one is among the nearest of the other; the weight is the share of neighbours that
they have in common.

Communities are merged in the manner of Ward: always the two whose union costs the least closeness. The closeness of a
group is the length of the sum of its vectors, which is the sum of their cosines with its mean. So the union of two
groups with sums a and b costs |a| + |b| − |a + b|. Ward, Journal of the American Statistical Association 1963, with
cosines in place of squared distances.
"""

from __future__ import annotations

from typing import Any

import graspologic_native
import numpy as np
from scipy import sparse

from turnlens._utils.vectors import FloatArray, IntArray

_ITERATIONS = 10  # of Leiden: more hardly raise modularity
_SWEEPS = 100  # in an iteration; without a limit, a node could go back and forth between equals for ever


def neighbour_graph(rows: np.ndarray) -> Any:
    """The weights between fitted vectors, sparse and symmetric (m, m), from the nearest neighbours of each (m, k)."""
    m, k = rows.shape
    near = sparse.csr_matrix(
        (np.ones(m * k, np.float32), rows.ravel(), np.arange(0, m * k + 1, k)), shape=(m, m)
    ) + sparse.identity(m, dtype=np.float32, format="csr")
    shared = (near @ near.T).multiply(near.maximum(near.T)).tocsr()  # only for vectors that are joined
    shared.data = shared.data / (2 * (k + 1) - shared.data)  # Jaccard
    shared.setdiag(0)
    shared.eliminate_zeros()
    return shared


def communities(graph: Any, resolution: float, seed: int) -> IntArray:
    """The community of each node, numbered from the largest to the smallest (m,).

    Args:
        graph: Symmetric weights (m, m), without any of a node with itself.
        resolution: A higher value gives more and smaller communities.
        seed: Seed of the order in which nodes are moved.
    """
    links = sparse.csr_matrix(graph, dtype=np.float64, copy=True)
    links.eliminate_zeros()
    if not links.nnz:
        return np.arange(links.shape[0], dtype=np.int64)
    links.sort_indices()
    _, labels = graspologic_native.leiden_csr(
        links.indptr.astype(np.int64),
        links.indices.astype(np.int32),
        links.data,
        links.shape[0],
        resolution=resolution,
        iterations=_ITERATIONS,
        max_local_moving_iterations=_SWEEPS,
        seed=seed,
    )
    return by_size(np.fromiter((labels[node] for node in range(links.shape[0])), np.int64, links.shape[0]))


def coarser(graph: Any, labels: IntArray, seed: int) -> IntArray:
    """The coarse community of each fine one (groups,), from the weights between them; a label of -1 is no group."""
    inside = np.flatnonzero(labels >= 0)
    members = sparse.csr_matrix(
        (np.ones(len(inside), np.float32), (inside, labels[inside])), (len(labels), labels.max() + 1)
    )
    between = (members.T @ graph @ members).tocsr()
    between.setdiag(0)
    return communities(between, 1.0, seed)


def by_size(labels: IntArray) -> IntArray:
    """Number labels by frequency, the most frequent first; -1 stays."""
    inside = labels >= 0
    _, places, counts = np.unique(labels[inside], return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    numbered = np.full(len(labels), -1, np.int64)
    numbered[inside] = rank[places]
    return numbered


_USUAL = 3  # of the others that a part is most like: twins are much more alike than a part and its third
LEAST_CLOSENESS = 1e-4  # of a group, by which others are divided, and which has a logarithm


def merged(sums: FloatArray) -> IntArray:
    """Merge parts into 1, 2, … groups, up to as many as there are parts (parts, parts).

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
        sizes: The number of vectors of each part (parts,).
        least: The likeness that two groups need: from 0, as most parts are to the third that is most like them, to 1,
            as a group is to itself. Among few parts the third may be far away: 0 is at least the mean cosine of all.
    """
    sums, sizes = np.array(sums, np.float64), np.array(sizes, np.float64)
    products = sums @ sums.T  # (groups, groups)
    groups, needed = np.arange(len(sizes)), None
    while len(sizes) > 1:
        within = (products.diagonal() - sizes) / np.maximum(sizes * (sizes - 1), 1)
        lengths = sizes * np.sqrt(np.maximum(within, LEAST_CLOSENESS))
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
