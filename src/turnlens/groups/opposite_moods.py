"""Two moods in one group, such as praise and complaint about the same thing, told apart without words of any language.

What is said in another mood is answered in another way. So the answers are halved along the direction in which they
differ most. If the messages themselves tell by which half they are answered, the group has two moods, and each message
is in the half that it and its answer are more like; or else the answers differ by chance, or by who gives them.
"""

from __future__ import annotations

import numpy as np

from turnlens._utils.vectors import BoolArray, FloatArray, unit_vectors

_ANSWERED = 30  # messages that have an answer, at least
_ROUNDS = 10  # of power iteration, and then of each answer joining the half whose mean is nearer
_TOLD = 0.7  # of them whose half the others tell, at least: 0.5 is chance


def moods(vectors: FloatArray, answers: FloatArray) -> BoolArray | None:
    """Which messages of a group are in the second of its moods (n,); ``None`` if it does not have two.

    Args:
        vectors: The vectors of its messages, of length 1 (n, dim).
        answers: Those of their answers, 0 where there is none (n, dim).
    """
    answered = np.flatnonzero(answers.any(1))
    if len(answered) < _ANSWERED:
        return None
    messages = unit_vectors(vectors - vectors.mean(0))
    replies = np.zeros_like(answers)
    replies[answered] = unit_vectors(answers[answered] - answers[answered].mean(0))
    direction = replies[answered[0]]
    for _ in range(_ROUNDS):  # towards the first principal component
        direction = unit_vectors(replies.T @ (replies @ direction))
    for _ in range(_ROUNDS):
        second = replies[answered] @ direction > 0
        if second.all() or not second.any():  # all are answered alike
            return None
        means = _means(replies[answered], second)
        direction = means[1] - means[0]
    if _told(messages[answered], second) < _TOLD:
        return None
    both = messages + replies
    return np.asarray((both @ _means(both[answered], second).T).argmax(1) == 1)


def _means(vectors: FloatArray, second: BoolArray) -> FloatArray:
    """The means of the two halves, of length 1 (2, dim)."""
    return unit_vectors(np.stack([vectors[~second].mean(0), vectors[second].mean(0)]))


def _told(vectors: FloatArray, second: BoolArray) -> float:
    """How often a vector is nearer to the mean of the others in its half than to that of the other half.

    The mean of the two halves; 0 if one of them has a single vector at most.
    """
    members = np.stack([~second, second])  # (halves, n)
    if members.sum(1).min() < 2:
        return 0.0
    others = (members @ vectors)[:, None] - members[:, :, None] * vectors  # (halves, n, dim)
    nearer = np.einsum("hnd,nd->hn", unit_vectors(others), vectors).argmax(0) == second
    return float(np.mean([nearer[half].mean() for half in members]))
