"""A map of a sample in two dimensions, on which similar vectors are near each other.

t-SNE of the neighbour graph (van der Maaten and Hinton, JMLR 2008), whose attraction stays exaggerated, so that it
shows islands as UMAP does (Böhm, Berens and Kobak, JMLR 2022), starting from the graph's spectral embedding.
"""

from __future__ import annotations

import numpy as np

from turnwise._utils.optional import require
from turnwise._utils.vectors import FloatArray
from turnwise.explorer.groups.communities import neighbour_graph

_BEGINNING = {"n_iter": 100, "exaggeration": 12, "momentum": 0.8}  # islands come together
_REST = {"n_iter": 250, "exaggeration": 2, "momentum": 0.8}
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
    opentsne = require("openTSNE", "explorer")
    affinities = opentsne.affinity.PrecomputedAffinities(neighbour_graph(neighbours).astype(np.float64))
    start = opentsne.initialization.spectral(affinities.P, random_state=seed)
    places = opentsne.TSNEEmbedding(start, affinities, random_state=seed).optimize(**_BEGINNING).optimize(**_REST)
    return _scaled(np.asarray(places))


def _scaled(places: FloatArray) -> FloatArray:
    low, high = np.quantile(places, [_FARTHEST, 1 - _FARTHEST], axis=0)
    width = max(float((high - low).max()), np.finfo(np.float64).tiny)
    return np.clip(2 * _FILLED * (places - (low + high) / 2) / width, -1, 1).astype(np.float32)
