"""Dissolve groups of requests that don't name a topic, such as praise or anger about everything.

A message names the topic of its group if one of its words is mostly there: by how much more likely a message with this
word is to be in the group than any message is, on a scale from 0 to 1, where 1 is a word that is nowhere else
(normalised pointwise mutual information given the word). The message itself does not count, and a word weighs less the
fewer other messages have it. While the mean of this is too low in some group, the lowest is dissolved: each of its
messages goes to the most alike of the groups whose topic its words name, or else to none. So a group that means the
same as a larger one in fewer words joins it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from turnlens._utils.vectors import FloatArray, IntArray, unit_vectors
from turnlens.groups.naming import tokens_of
from turnlens.groups.phrases import without_placeholders

_LEAST = 0.53  # groups of clean exports have 0.6 and more
_PRIOR = 1  # message with each word that is taken to be in all groups alike
_SEVERAL = 2  # messages that have a word, at least


def dissolve_vague_groups(labels: IntArray, vectors: FloatArray, texts: Sequence[str]) -> IntArray:
    """Dissolve groups of requests that don't name a topic: the group of each request (n,), from 0 on; -1 for none.

    Args:
        labels: The group of each, numbered from 0 on, -1 for none (n,).
        vectors: Their vectors, of length 1 (n, dim).
        texts: The requests (n).
    """
    try:
        words = CountVectorizer(
            analyzer=lambda text: set(tokens_of(without_placeholders(text))), min_df=_SEVERAL
        ).fit_transform(texts)
    except ValueError:  # no two of them have a word in common
        return labels
    labels = labels.copy()
    while (groups := int(labels.max(initial=-1)) + 1) > 1:
        told = _told(words, labels)  # (n, groups)
        members = labels[:, None] == np.arange(groups)
        named = told.sum(0, where=members) / members.sum(0)
        lowest = int(named.argmin())
        if named[lowest] >= _LEAST:
            break
        rows = np.flatnonzero(members[:, lowest])
        alike = vectors[rows] @ unit_vectors(members.T.astype(vectors.dtype) @ vectors).T  # (rows, groups)
        alike[told[rows] < _LEAST] = -np.inf
        alike[:, lowest] = -np.inf
        labels[rows] = np.where(np.isfinite(alike).any(1), alike.argmax(1), -1)
        labels[labels > lowest] -= 1
    return labels


def _told(words: Any, labels: IntArray) -> FloatArray:
    """Return the weight of the most distinctive word of each request for each group, from 0 to 1 (n, groups).

    Args:
        words: The words of each, sparse (n, words).
        labels: As for `dissolve_vague_groups`, each group with at least one request (n,).
    """
    inside = np.flatnonzero(labels >= 0)
    members = sparse.csr_matrix((np.ones(len(inside)), (labels[inside], inside)))  # (groups, up to n)
    counts = (members @ words[: members.shape[1]]).toarray()  # (groups, words)
    shares = np.bincount(labels[inside]) / len(inside)
    has = np.flatnonzero(np.diff(words.indptr))
    starts, row = words.indptr[has], np.repeat(np.arange(len(labels)), np.diff(words.indptr))
    others = counts.sum(0)[words.indices] - (labels[row] >= 0)  # with the word
    told = np.zeros((len(labels), len(shares)))
    for group, share in enumerate(shares):
        within = counts[group, words.indices] - (labels[row] == group)
        times = (within + _PRIOR * share) / (others + _PRIOR) / share
        told[has, group] = np.maximum.reduceat(np.log(times), starts) / -np.log(share)
    return np.maximum(told, 0)
