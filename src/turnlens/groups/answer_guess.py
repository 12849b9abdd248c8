"""Vectors of messages with what their answers tell about them: "sorry for the delay" tells what was asked.

The best linear guess of a message's vector from the mean of its answers is added to it, so that messages come closer
that are answered alike. Where answers have nothing to do with messages, there is nothing to guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from turnlens._utils.vectors import BoolArray, FloatArray, IntArray, LazyVectors, with_ridge
from turnlens.encoders.context_projection import LEAST_TAUGHT, MOST_TAUGHT

_NEXT = 30  # messages that may answer one: the chat of a year is a single conversation
_AT_ONCE = 4096  # messages


@dataclass(frozen=True)
class Answers:
    """All that others say in the next 30 messages of the same conversation.

    Attributes:
        role: The role of each message (n,).
        conversation: The conversation of each message, those of one in a row (n,).
        asks: The messages that are answered (n,).
        speaks: The messages that are not empty (n,).
    """

    role: IntArray
    conversation: IntArray
    asks: BoolArray
    speaks: BoolArray

    def to(self, messages: IntArray) -> IntArray:
        """Return the rows of the answers to some messages (m,), -1 for each of the next that is none (m, 30)."""
        own = messages[:, None]
        after = own + np.arange(1, _NEXT + 1)
        rows = np.minimum(after, len(self.role) - 1)
        is_other = (self.conversation[rows] == self.conversation[own]) & (self.role[rows] != self.role[own])
        return np.where((rows == after) & is_other & self.speaks[rows] & self.asks[own], rows, -1)

    def means(self, vectors: FloatArray, messages: IntArray) -> tuple[FloatArray, BoolArray]:
        """Return the means of the answers to those of some messages (m,) that have any (k, dim), and which (m,)."""
        from scipy.sparse import csr_matrix

        means = [np.zeros((0, vectors.shape[1]), np.float32)]
        is_answered = np.zeros(len(messages), bool)
        for start in range(0, len(messages), _AT_ONCE):
            rows = self.to(messages[start : start + _AT_ONCE])
            counts = (rows >= 0).sum(1)
            is_answered[start : start + _AT_ONCE] = counts > 0
            distinct, columns = np.unique(rows[rows >= 0], return_inverse=True)
            shares = np.repeat(1 / counts[counts > 0], counts[counts > 0]).astype(np.float32)
            starts = np.cumsum([0, *counts[counts > 0]])
            means.append(csr_matrix((shares, columns, starts), (len(starts) - 1, len(distinct))) @ vectors[distinct])
        return np.concatenate(means), is_answered


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


def answered_vectors(vectors: FloatArray, answers: Answers, guess: LinearGuess) -> LazyVectors:
    """Vectors of messages with the guesses from their answers added, as rows of them are taken.

    Args:
        vectors: The vectors without, perhaps memory-mapped (n, dim).
        answers: The answers to each.
        guess: The guess.
    """
    every = np.arange(len(vectors))

    def take(rows: Any) -> FloatArray:
        own = np.array(vectors[rows], np.float32)
        means, is_answered = answers.means(vectors, every[rows])
        own[is_answered] += guess(means)
        return own

    return LazyVectors(len(vectors), take)


def fit_answer_guess(vectors: FloatArray, answers: Answers) -> LinearGuess | None:
    """Learn to guess messages from their answers, by ridge regression.

    It is scaled by how well one half of the messages guesses the other: the slope of these on their guesses.

    Args:
        vectors: The vectors of messages, of length 1, perhaps memory-mapped (n, dim).
        answers: The answers to each.

    Returns:
        The guess; ``None`` if there are fewer messages with an answer than twice the dimensions, or their answers tell
        nothing about them.
    """
    rows = np.flatnonzero(answers.asks & answers.speaks)
    rows = rows[:: len(rows) // MOST_TAUGHT + 1]
    means, is_answered = answers.means(vectors, rows)
    if len(means) < LEAST_TAUGHT * means.shape[1]:
        return None
    messages = np.array(vectors[rows[is_answered]], np.float32)
    messages -= messages.mean(0)
    first, second = np.array_split(np.arange(len(means)), 2)
    halves = (
        (fit_linear_guess(means[own], messages[own])(means[other]), messages[other])
        for own, other in ((first, second), (second, first))
    )
    products = np.sum([((guessed * guessed).sum(), (guessed * true).sum()) for guessed, true in halves], axis=0)
    slope = min(products[1] / products[0], 1) if products[0] > 0 else 0
    guess = fit_linear_guess(means, messages)
    return LinearGuess(guess.mean, (slope * guess.weights).astype(np.float32)) if slope > 0 else None


def fit_linear_guess(others: FloatArray, guessed: FloatArray, ridge: float = 1.0) -> LinearGuess:
    """Learn to guess vectors, less their mean (n, dim of the guessed), from others (n, dim).

    The ridge is what is added to the variance in each direction, as a share of the mean variance of the others.
    """
    mean = others.mean(0)
    inside = others - mean
    weights = np.linalg.solve(with_ridge(inside.T @ inside, ridge), inside.T @ guessed)
    return LinearGuess(mean, weights.astype(np.float32))
