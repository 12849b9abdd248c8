"""The confidence in the group that neighbours vote for, calibrated without labels."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from turnlens._compat import datasets_cache
from turnlens._utils.files import atomic_path
from turnlens._utils.vectors import BoolArray, FloatArray, IntArray
from turnlens.groups.group_settings import GroupSettings, neighbours_among
from turnlens.groups.neighbours import centroids_of, nearest, votes_of

_HELD_OUT = 0.2  # of the vectors
_NONE = 0.3  # share of messages that are taken to belong to no group
_SAMPLE = 5000  # vectors that it is learned from, at most
_LEAST_SPREAD = 0.02  # of the cosines of a group with its mean, so that copies of one text do not exclude all others
_LEAST = 20  # vectors held out, and vectors of hidden groups, below which nothing can be learned


@dataclass(frozen=True)
class Voters:
    """Vectors in groups, the nearest of which vote on the group of another.

    Attributes:
        vectors: The vectors, of length 1 (m, dim).
        ids: The group of each, -1 for none (m,).
        count: The number of nearest vectors that vote.
        groups: The ids of the groups, sorted (groups,).
        means: Their means, of length 1 (groups, dim).
        usual: The mean cosine of the vectors of each group with its mean (groups,).
        spread: The standard deviation of these cosines (groups,).
    """

    vectors: FloatArray
    ids: IntArray
    count: int
    groups: IntArray
    means: FloatArray
    usual: FloatArray
    spread: FloatArray

    @classmethod
    def of(cls, vectors: FloatArray, ids: IntArray, count: int) -> Voters:
        """Voters from the first three attributes; at least one of them must be in a group."""
        means = centroids_of(vectors, ids)
        cosines = [vectors[ids == group] @ mean for group, mean in means.items()]
        usual, spread = np.asarray([own.mean() for own in cosines]), [own.std() for own in cosines]
        groups, middles = np.asarray(list(means), np.int64), np.stack(list(means.values()))
        return cls(vectors, ids, count, groups, middles, usual, np.maximum(spread, _LEAST_SPREAD))

    def votes(self, vectors: FloatArray) -> tuple[IntArray, FloatArray]:
        """The group that most vote for, and what tells whether it is right. A copy of a voter has that voter's group.

        Args:
            vectors: The vectors to be voted on, of length 1 (n, dim).

        Returns:
            The group of each, -1 if all who vote are in none (n,). And the evidence (n, 3): the share of the votes, the
            cosine with the nearest voter, and by how many standard deviations of the group the cosine with its mean
            differs from what is usual there.
        """
        near = nearest(vectors, self.vectors, self.count)
        groups, shares = votes_of(near, self.ids)
        own = np.append(self.ids, -1)[near.copy_of]
        is_copy = own >= 0
        groups, shares = np.where(is_copy, own, groups), np.where(is_copy, 1.0, shares)
        place = np.searchsorted(self.groups, groups)
        cosines = np.einsum("nd,nd->n", vectors, self.means[place])
        highest = np.where(is_copy, 1.0, near.cosines[:, 0])
        return groups, np.stack([shares, highest, (cosines - self.usual[place]) / self.spread[place]], axis=1)


@dataclass(frozen=True)
class Confidence:
    """The probability that a vector belongs to the group that most of its nearest vote for.

    Attributes:
        weights: Of the columns of the evidence, and a constant, on the scale of log-odds; ``None`` where nothing could
            be learned, and the share of the votes stands for the probability.
    """

    weights: FloatArray | None

    def of(self, evidence: FloatArray) -> FloatArray:
        """The probability for vectors with this evidence (n, 3), as `Voters.votes` gives it (n,)."""
        shares = evidence[:, 0]
        if self.weights is None:
            return shares
        odds = evidence @ self.weights[:-1] + self.weights[-1]
        return np.asarray(np.where(shares > 0, 1 / (1 + np.exp(-odds)), 0.0))


def calibrated(vectors: FloatArray, ids: IntArray, seed: int) -> Confidence:
    """Learn from the vectors that groups were fitted to, or recall what was learned from the same ones before."""
    key = hashlib.blake2b(vectors.tobytes() + ids.tobytes() + repr((seed, _NONE)).encode(), digest_size=16).hexdigest()
    file = datasets_cache() / "turnlens-confidence" / f"{key}.json"
    with suppress(OSError, ValueError):
        weights = json.loads(file.read_text())
        return Confidence(None if weights is None else np.asarray(weights))
    learned = _learned(vectors, ids, seed)
    with suppress(OSError), atomic_path(file) as temporary:
        temporary.write_text(json.dumps(None if learned.weights is None else learned.weights.tolist()))
    return learned


def _learned(vectors: FloatArray, ids: IntArray, seed: int) -> Confidence:
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


def _found_again(vectors: FloatArray, ids: IntArray, held_out: int, seed: int) -> tuple[FloatArray, BoolArray]:
    """The evidence of held-out vectors (n, 3), by groups found again in the rest, and whether it is right (n,)."""
    from turnlens.groups.fitting import fit_groups  # what these import takes a second to load
    from turnlens.groups.model_updates import match_groups

    rest, rest_ids = vectors[held_out:], ids[held_out:]
    settings = GroupSettings(granularity=len(np.unique(ids[ids >= 0])), seed=seed)
    count = neighbours_among(len(rest))
    again = fit_groups(rest, nearest(rest, rest, count), settings).fine
    if not (again >= 0).any():
        return np.zeros((0, 3)), np.zeros(0, bool)
    voters = Voters.of(rest, again, count)
    same = match_groups(again, rest_ids, voters.means, {})
    groups, evidence = voters.votes(vectors[:held_out])
    right = [id >= 0 and same.get(group, -1) == id for group, id in zip(groups.tolist(), ids[:held_out].tolist())]
    return evidence, np.asarray(right, bool)


def _hidden(vectors: FloatArray, ids: IntArray) -> FloatArray:
    """The evidence of each vector in a group for the other groups, as if its own had never been found (n, 3)."""
    parts: list[FloatArray] = [np.zeros((0, 3))]
    count = neighbours_among(len(vectors))
    for group in np.unique(ids[ids >= 0]):
        others = ids != group
        if (ids[others] >= 0).any():
            parts.append(Voters.of(vectors[others], ids[others], count).votes(vectors[~others])[1])
    return np.concatenate(parts)
