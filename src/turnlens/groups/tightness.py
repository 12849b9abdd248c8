"""How alike the texts of a group are: whether a sentence of one of them says what the others are about.

On exports of a help desk, groups of requests are at 0.66 and above, and on Twitter, where sentences misled independent
readers in more than every second row, at 0.55 and below.
"""

from __future__ import annotations

import numpy as np

from turnlens._utils.vectors import FloatArray, IntArray, unit_vectors

TIGHT = 0.6


def tightness(vectors: FloatArray, labels: IntArray, parts: IntArray) -> FloatArray:
    """The mean cosine of the texts of each group with their mean, apart from what all groups of a part share (groups,).

    Args:
        vectors: The vectors of the texts, of length 1 (n, dim).
        labels: The group of each text, from 0 on, -1 for none (n,).
        parts: The part of each group (groups,); of a group that is the only one in its part, nothing is taken away.
    """
    members = [vectors[labels == group] for group in range(len(parts))]
    tight = np.ones(len(parts))
    for part in np.unique(parts).tolist():
        groups = np.flatnonzero(parts == part).tolist()
        shared = np.mean([members[group].mean(0) for group in groups], 0) if len(groups) > 1 else np.float32(0)
        for group in groups:
            tight[group] = np.linalg.norm(unit_vectors(members[group] - shared).mean(0))
    return tight
