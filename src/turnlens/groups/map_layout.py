"""A map of a sample in two dimensions, on which similar vectors are near each other.

t-SNE of the neighbour graph (van der Maaten and Hinton, JMLR 2008), whose attraction stays exaggerated, so that it
shows islands as UMAP does (Böhm, Berens and Kobak, JMLR 2022), starting from the graph's spectral embedding. When data
grows, it starts from the former map, so that everything stays about where it was, and takes a few steps only.
"""

from __future__ import annotations

import numpy as np

from turnlens._utils.vectors import FloatArray
from turnlens.groups.communities import neighbour_graph
from turnlens.groups.neighbours import Neighbours

_BEGINNING = {"n_iter": 50, "exaggeration": 12, "momentum": 0.8}  # islands come together
_REST = {"n_iter": 150, "exaggeration": 2, "momentum": 0.8}
_AGAIN = _REST | {"n_iter": 50}
_MANY = 1000  # vectors, from which on interpolation is quicker than the tree that openTSNE takes below 10,000
_PLACED_BY = 3  # neighbours, between which a new vector starts
_APART = 1e-3  # of the map's width, by which new vectors with the same neighbours start apart
_FILLED = 0.95  # share of the map's width and height that all but the farthest points fill
_NEAREST_PLACED = 5  # neighbours, between which a vector that is not in the sample is placed
_SPREAD = 0.004  # of the copies of a text around its place; the map is 2 wide
_FARTHEST = 0.005  # share of the points at each side that is ignored for the scale


def layout(neighbours: np.ndarray, seed: int, former: FloatArray | None = None) -> FloatArray:
    """Places of the vectors of a sample, in the units of t-SNE, float32 (s, 2).

    Args:
        neighbours: The nearest neighbours of each vector, among the sample (s, k).
        seed: Seed of the layout.
        former: The places that they had on the map before data grew, NaN for those that are new (s, 2).
    """
    count = len(neighbours)
    if count < 4:  # nothing to lay out
        return np.stack([np.linspace(-0.5, 0.5, count), np.zeros(count)], axis=1).astype(np.float32)
    import openTSNE as opentsne

    affinities = opentsne.affinity.PrecomputedAffinities(neighbour_graph(neighbours).astype(np.float64))
    if former is not None and np.isfinite(former).any():
        start, steps = _with_new(former, neighbours, seed), [_AGAIN]
    else:
        start, steps = opentsne.initialization.spectral(affinities.P, random_state=seed), [_BEGINNING, _REST]
    forces = "fft" if count >= _MANY else "bh"
    places = opentsne.TSNEEmbedding(start, affinities, random_state=seed, negative_gradient_method=forces)
    for step in steps:
        places = places.optimize(**step)
    return np.asarray(places, np.float32)


def _with_new(former: FloatArray, neighbours: np.ndarray, seed: int) -> FloatArray:
    """Return the places where vectors start: new ones between the nearest of their neighbours that have one (s, 2)."""
    places = np.array(former, np.float64)
    middle, width = np.nanmean(places, axis=0), np.nanmax(places) - np.nanmin(places)
    new = missing = np.flatnonzero(np.isnan(places[:, 0]))
    while len(missing):
        near = places[neighbours[missing]]  # (missing, k, 2)
        known = ~np.isnan(near[..., 0])
        counts = np.minimum(known.sum(1), _PLACED_BY)[:, None]
        nearest = (known & (known.cumsum(1) <= _PLACED_BY))[..., None]
        if not counts.any():  # they have only each other
            places[missing] = middle
            break
        placed = counts[:, 0] > 0
        places[missing[placed]] = (np.where(nearest, near, 0).sum(1) / np.maximum(counts, 1))[placed]
        missing = missing[~placed]
    places[new] += _APART * width * np.random.default_rng(seed).standard_normal((len(new), 2))
    return places


def scaled(places: FloatArray) -> FloatArray:
    """A map that fills the square from -1 to 1, float32 (s, 2)."""
    low, high = np.quantile(places, [_FARTHEST, 1 - _FARTHEST], axis=0)
    width = max(float((high - low).max()), np.finfo(np.float64).tiny)
    return np.clip(2 * _FILLED * (places - (low + high) / 2) / width, -1, 1).astype(np.float32)


def place(neighbours: Neighbours, coordinates: FloatArray, seed: int) -> FloatArray:
    """Places on the map, float32 (n, 2): copies of a fitted vector are put near it, others between their neighbours.

    Args:
        neighbours: The neighbours of n vectors among m fitted ones.
        coordinates: The places of the fitted vectors (m, 2).
        seed: Seed of the spread of copies, which would otherwise hide each other.
    """
    near, cosines = neighbours.rows[:, :_NEAREST_PLACED], neighbours.cosines[:, :_NEAREST_PLACED]
    weights = np.exp((cosines - cosines[:, :1]) / 0.05)
    placed = np.einsum("nk,nkd->nd", weights / weights.sum(1, keepdims=True), coordinates[near])
    copies = neighbours.copy_of >= 0
    placed[copies] = coordinates[neighbours.copy_of[copies]]
    _, first = np.unique(neighbours.copy_of, return_index=True)
    copies[first] = False  # the first copy stays at its exact place
    random = np.random.default_rng(seed)
    placed[copies] += _SPREAD * random.standard_normal((int(copies.sum()), 2))
    return np.clip(placed, -1, 1).astype(np.float32)
