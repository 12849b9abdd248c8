"""How far the group that neighbours vote for can be trusted, learned without labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from turnwise._utils.vectors import FloatArray, IntArray
from turnwise.explorer.groups.assigning import votes_of
from turnwise.explorer.groups.fitting import fit_groups
from turnwise.explorer.groups.matching import match_groups
from turnwise.explorer.groups.neighbours import nearest
from turnwise.explorer.groups.settings import GroupSettings

_HELD_OUT = 0.2  # of the vectors
_NONE = 0.3  # share of messages that are taken to belong to no group
_SAMPLE = 5000  # vectors that it is learned from, at most
_LEAST = 20  # vectors held out, and vectors of hidden groups, below which nothing can be learned


@dataclass(frozen=True)
class Confidence:
    """The probability that a vector belongs to the group that most of its nearest vote for.

    Attributes:
        weights: Of the cosine with the nearest, of the share of the votes, and a constant, on the scale of log-odds;
            ``None`` where nothing could be learned, and the share of the votes stands for the probability.
    """

    weights: FloatArray | None

    def of(self, cosines: FloatArray, shares: FloatArray) -> FloatArray:
        """The probability for vectors with these cosines with their nearest and these shares of the votes (n,)."""
        if self.weights is None:
            return shares
        odds = np.stack([cosines, shares, np.ones(len(shares))], axis=1) @ self.weights
        return np.asarray(np.where(shares > 0, 1 / (1 + np.exp(-odds)), 0.0))


def calibrated(vectors: FloatArray, ids: IntArray, seed: int) -> Confidence:
    """Learn from the vectors that groups were fitted to.

    Args:
        vectors: The vectors, of length 1 (m, dim).
        ids: The group of each, -1 for none (m,).
        seed: Seed of what is held out.
    """
    from sklearn.linear_model import LogisticRegression  # takes a second to load

    random = np.random.default_rng(seed)
    rows = random.permutation(len(vectors))[:_SAMPLE]
    vectors, ids = vectors[rows], ids[rows]
    held_out = round(_HELD_OUT * len(vectors))
    found, right = _found_again(vectors, ids, held_out, seed)
    hidden = _hidden(vectors, ids)
    if min(len(found), len(hidden)) < _LEAST or not right.any():
        return Confidence(None)
    evidence = np.concatenate([found, hidden])
    is_right = np.append(right, np.zeros(len(hidden), bool))
    shares = np.append(np.full(len(found), (1 - _NONE) / len(found)), np.full(len(hidden), _NONE / len(hidden)))
    middle, scale = evidence.mean(0), np.maximum(evidence.std(0), 1e-9)
    model = LogisticRegression().fit((evidence - middle) / scale, is_right, sample_weight=shares * len(evidence))
    slopes = model.coef_[0] / scale
    return Confidence(np.append(slopes, model.intercept_[0] - slopes @ middle))


def _found_again(vectors: FloatArray, ids: IntArray, held_out: int, seed: int) -> tuple[FloatArray, IntArray]:
    """The evidence of held-out vectors (n, 2), by groups found again in the rest, and whether it is right (n,)."""
    rest, rest_ids = vectors[held_out:], ids[held_out:]
    settings = GroupSettings(granularity=len(np.unique(ids[ids >= 0])), seed=seed)
    count = settings.neighbours_among(len(rest))
    again = fit_groups(rest, nearest(rest, rest, count), settings).fine
    centroids = np.stack([rest[again == group].mean(0) for group in range(again.max(initial=-1) + 1)])
    same = match_groups(again, rest_ids, centroids, {})
    groups, evidence = _evidence(vectors[:held_out], rest, again, count)
    right = [id >= 0 and same.get(group, -1) == id for group, id in zip(groups.tolist(), ids[:held_out].tolist())]
    return evidence, np.asarray(right)


def _hidden(vectors: FloatArray, ids: IntArray) -> FloatArray:
    """The evidence of each vector in a group for the other groups, as if its own had never been found (n, 2)."""
    parts: list[FloatArray] = [np.zeros((0, 2))]
    for group in np.unique(ids[ids >= 0]):
        others = ids != group
        if (ids[others] >= 0).any():
            count = GroupSettings().neighbours_among(len(vectors))
            parts.append(_evidence(vectors[~others], vectors[others], ids[others], count)[1])
    return np.concatenate(parts)


def _evidence(vectors: FloatArray, fitted: FloatArray, ids: IntArray, count: int) -> tuple[IntArray, FloatArray]:
    near = nearest(vectors, fitted, count)
    groups, shares = votes_of(near, ids)
    return groups, np.stack([near.cosines[:, 0], shares], axis=1)
