"""Groups as communities of a neighbour graph: fine groups, and coarse groups that consist of fine ones.

Traag et al., From Louvain to Leiden, Scientific Reports 2019. The graph is that of Phenograph (Levine et al., Cell
2015): two vectors are joined if one is among the nearest of the other; the weight is the share of neighbours that
they have in common.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from turnlens._utils.registries import require
from turnlens._utils.vectors import IntArray

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
    _, labels = require("graspologic_native", "explorer").leiden_csr(
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


def coarser(graph: Any, labels: IntArray, resolution: float, seed: int) -> IntArray:
    """The coarse community of each fine one (groups,), from the weights between them; a label of -1 is no group."""
    inside = np.flatnonzero(labels >= 0)
    members = sparse.csr_matrix(
        (np.ones(len(inside), np.float32), (inside, labels[inside])), (len(labels), labels.max() + 1)
    )
    between = (members.T @ graph @ members).tocsr()
    between.setdiag(0)
    return communities(between, resolution, seed)


def by_size(labels: IntArray) -> IntArray:
    """Number labels by frequency, the most frequent first; -1 stays."""
    inside = labels >= 0
    _, places, counts = np.unique(labels[inside], return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    numbered = np.full(len(labels), -1, np.int64)
    numbered[inside] = rank[places]
    return numbered
