"""A map of a sample in two dimensions, on which similar vectors are near each other.

UMAP's layout of the neighbour graph (McInnes, Healy and Melville, 2018), as igraph computes it.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from turnwise._utils.optional import require
from turnwise._utils.vectors import FloatArray
from turnwise.explorer.groups.communities import neighbour_graph, seeded

_EPOCHS = 200
_FILLED = 0.95  # share of the map's width and height that all but the farthest points fill
_FARTHEST = 0.005  # share of the points at each side that is ignored for the scale


def layout(neighbours: np.ndarray, seed: int) -> FloatArray:
    """Places of the vectors of a sample, within -1 and 1, float32 (s, 2).

    Args:
        neighbours: The nearest neighbours of each vector, among the sample (s, k).
        seed: Seed of the layout.
    """
    count = len(neighbours)
    if count < 4:  # nothing to lay out
        return np.stack([np.linspace(-0.5, 0.5, count), np.zeros(count)], axis=1).astype(np.float32)
    graph = sparse.triu(neighbour_graph(neighbours)).tocoo()
    igraph = require("igraph", "explorer")
    net = igraph.Graph(n=count, edges=np.column_stack([graph.row, graph.col]))
    with seeded(igraph, seed):
        placed = net.layout_umap(dist=(1 - graph.data).tolist(), dim=2, epochs=_EPOCHS, min_dist=0.1)
    return _scaled(np.asarray(placed.coords))


def _scaled(places: FloatArray) -> FloatArray:
    low, high = np.quantile(places, [_FARTHEST, 1 - _FARTHEST], axis=0)
    width = max(float((high - low).max()), 1e-9)
    return np.clip(2 * _FILLED * (places - (low + high) / 2) / width, -1, 1).astype(np.float32)
