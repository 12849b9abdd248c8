"""Vectors of messages with what their answers tell about them: "sorry for the delay" tells what was asked.

The best linear guess of a message's vector from that of its answer is added to it, so that messages come closer that
are answered alike. Where answers have nothing to do with messages, there is nothing to guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from turnlens._utils.vectors import BoolArray, FloatArray, IntArray, LazyVectors, Vectors, with_ridge
from turnlens.encoders.context_projection import LEAST_TAUGHT, MOST_TAUGHT


@dataclass(frozen=True)
class LinearGuess:
    """The best linear guess of vectors, less their mean, from others, such as of messages from their answers.

    Attributes:
        mean: The mean of the others (dim,).
        weights: The factors of the others without it (dim, dim of the guessed).
    """

    mean: FloatArray
    weights: FloatArray

    def __call__(self, others: FloatArray) -> FloatArray:
        """The guesses (n, dim of the guessed) from others (n, dim)."""
        return np.asarray((others - self.mean) @ self.weights)


def answered_vectors(vectors: Vectors, answer: IntArray, guess: LinearGuess) -> LazyVectors:
    """Vectors of messages with the guesses from their answers added, as rows of them are taken.

    Args:
        vectors: The vectors without, perhaps memory-mapped (n, dim).
        answer: The row of the answer to each, from `answers_to` (n,).
        guess: The guess.
    """

    def take(rows: Any) -> FloatArray:
        own, answers = np.array(vectors[rows], np.float32), answer[rows]
        own[answers >= 0] += guess(vectors[answers[answers >= 0]])
        return own

    return LazyVectors(len(vectors), take)


def answers_to(role: IntArray, conversation: IntArray) -> IntArray:
    """The row of the next message of anybody else in the same conversation, -1 for none (n,).

    Args:
        role: The role of each message (n,).
        conversation: The conversation of each message, those of one in a row (n,).
    """
    changes = np.append(np.flatnonzero(np.diff(role)) + 1, len(role))
    answer = changes[np.searchsorted(changes, np.arange(len(role)), side="right")]
    return np.where(np.append(conversation, -1)[answer] == conversation, answer, -1)


def fit_answer_guess(vectors: FloatArray, answer: IntArray, usable: BoolArray) -> LinearGuess | None:
    """Learn to guess messages from their answers, by ridge regression.

    It is scaled by how well one half of the messages guesses the other: the slope of these on their guesses.

    Args:
        vectors: The vectors of messages, of length 1, perhaps memory-mapped (n, dim).
        answer: The row of the answer to each, -1 for none (n,).
        usable: The messages that are not empty (n,).

    Returns:
        The guess; ``None`` if there are fewer messages with an answer than twice the dimensions, or their answers tell
        nothing about them.
    """
    rows = np.flatnonzero((answer >= 0) & usable & usable[answer])
    if len(rows) < LEAST_TAUGHT * vectors.shape[1]:
        return None
    rows = rows[:: len(rows) // MOST_TAUGHT + 1]
    messages, answers = (np.array(vectors[some], np.float32) for some in (rows, answer[rows]))
    messages -= messages.mean(0)
    first, second = np.array_split(np.arange(len(rows)), 2)
    halves = (
        (fit_linear_guess(answers[own], messages[own])(answers[other]), messages[other])
        for own, other in ((first, second), (second, first))
    )
    products = np.sum([((guessed * guessed).sum(), (guessed * true).sum()) for guessed, true in halves], axis=0)
    slope = min(products[1] / products[0], 1) if products[0] > 0 else 0
    guess = fit_linear_guess(answers, messages)
    return LinearGuess(guess.mean, (slope * guess.weights).astype(np.float32)) if slope > 0 else None


def fit_linear_guess(others: FloatArray, guessed: FloatArray, ridge: float = 1.0) -> LinearGuess:
    """Learn to guess vectors, less their mean (n, dim of the guessed), from others (n, dim).

    The ridge is what is added to the variance in each direction, as a share of the mean variance of the others.
    """
    mean = others.mean(0)
    inside = others - mean
    weights = np.linalg.solve(with_ridge(inside.T @ inside, ridge), inside.T @ guessed)
    return LinearGuess(mean, weights.astype(np.float32))
