"""Groups as communities of a neighbour graph: fine groups, and coarse groups that consist of fine ones.

Traag et al., From Louvain to Leiden, Scientific Reports 2019. The graph is that of Phenograph (Levine et al., Cell
2015): two vectors are joined if one is among the nearest of the other; the weight is the share of neighbours that
they have in common.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from turnwise._utils.optional import require
from turnwise._utils.vectors import IntArray

_LEAST_GAIN = 1e-9  # of modularity, by which an iteration of Leiden must improve on the one before


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
        graph: Symmetric weights (m, m); the diagonal holds the weight of each node with itself.
        resolution: A higher value gives more and smaller communities.
        seed: Seed of the order in which nodes are moved.
    """
    upper = sparse.triu(graph).tocoo()
    if not upper.nnz:
        return np.arange(graph.shape[0], dtype=np.int64)
    igraph = require("igraph", "explorer")
    net = igraph.Graph(n=graph.shape[0], edges=np.column_stack([upper.row, upper.col]))
    found = None
    with seeded(igraph, seed):
        # igraph's own loop (n_iterations=-1) never ends where a node is moved back and forth between equals.
        while True:
            start = None if found is None else found.membership
            better = net.community_leiden(
                "modularity", weights=upper.data, resolution=resolution, n_iterations=1, initial_membership=start
            )
            if found is not None and not better.quality > found.quality + _LEAST_GAIN:  # nor if either is undefined
                return by_size(np.asarray(found.membership))
            found = better


def coarser(graph: Any, labels: IntArray, resolution: float, seed: int) -> IntArray:
    """The coarse community of each fine one (groups,), from the weights between them."""
    members = sparse.csr_matrix((np.ones(len(labels), np.float32), (np.arange(len(labels)), labels)))
    between = (members.T @ graph @ members).tocsr()
    between.setdiag(between.diagonal() / 2)  # inside, every edge was counted from both ends
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


@contextmanager
def seeded(igraph: Any, seed: int) -> Iterator[None]:
    """Inside the block, igraph draws random numbers from a generator with this seed."""
    igraph.set_random_number_generator(random.Random(seed))
    try:
        yield
    finally:
        igraph.set_random_number_generator(random)
