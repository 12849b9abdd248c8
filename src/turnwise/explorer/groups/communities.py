"""Groups as communities of a neighbour graph, fine ones and coarse ones made of them.

Traag et al., From Louvain to Leiden, Scientific Reports 2019. The graph is that of Phenograph (Levine et al., Cell
2015): vectors are joined where one is among the nearest of the other; the share of neighbours that both have is the
weight.
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


def neighbour_graph(rows: np.ndarray) -> Any:
    """The weights between fitted vectors, sparse and symmetric (m, m), from the nearest of each (m, k)."""
    m, k = rows.shape
    near = sparse.csr_matrix(
        (np.ones(m * k, np.float32), rows.ravel(), np.arange(0, m * k + 1, k)), shape=(m, m)
    ) + sparse.identity(m, dtype=np.float32, format="csr")
    shared = (near @ near.T).multiply(near.maximum(near.T)).tocsr()  # only of those that are joined
    shared.data = shared.data / (2 * (k + 1) - shared.data)  # Jaccard
    shared.setdiag(0)
    shared.eliminate_zeros()
    return shared


def communities(graph: Any, resolution: float, seed: int) -> IntArray:
    """The community of each node, numbered from the largest to the smallest (m,).

    Args:
        graph: Symmetric weights (m, m); those on the diagonal are of a node with itself.
        resolution: More and smaller communities where it is higher.
        seed: Seed of the order in which nodes are moved.
    """
    upper = sparse.triu(graph).tocoo()
    if not upper.nnz:
        return np.arange(graph.shape[0], dtype=np.int64)
    igraph = require("igraph", "explorer")
    net = igraph.Graph(n=graph.shape[0], edges=np.column_stack([upper.row, upper.col]))
    with seeded(igraph, seed):
        found = net.community_leiden("modularity", weights=upper.data, resolution=resolution, n_iterations=-1)
    return by_size(np.asarray(found.membership))


def share_inside(graph: Any, labels: IntArray) -> float:
    """The share of the weights of a graph (m, m) that are between nodes of one community; 1 where it has no links."""
    links = graph.tocoo()
    inside = links.data[labels[links.row] == labels[links.col]].sum()
    return float(inside / links.data.sum()) if links.nnz else 1.0


def coarser(graph: Any, labels: IntArray, resolution: float, seed: int) -> IntArray:
    """The coarse community of each fine one (groups,), from the weights between them."""
    members = sparse.csr_matrix((np.ones(len(labels), np.float32), (np.arange(len(labels)), labels)))
    between = (members.T @ graph @ members).tocsr()
    between.setdiag(between.diagonal() / 2)  # inside, every edge was counted from both ends
    return communities(between, resolution, seed)


def by_size(labels: IntArray) -> IntArray:
    """Labels numbered anew, the commonest first; -1 stays."""
    values, counts = np.unique(labels[labels >= 0], return_counts=True)
    rank = {int(value): place for place, value in enumerate(values[np.argsort(-counts, kind="stable")])}
    return np.asarray([rank.get(int(label), -1) for label in labels], np.int64)


@contextmanager
def seeded(igraph: Any, seed: int) -> Iterator[None]:
    """Let igraph draw from a generator of its own."""
    igraph.set_random_number_generator(random.Random(seed))
    try:
        yield
    finally:
        igraph.set_random_number_generator(random)
