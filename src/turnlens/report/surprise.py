"""Surprise: how unexpected each turn is after the turns before it.

The vector of a turn is guessed from those before it, and the turn is ranked among sampled messages of the same role:
the surprise is 0 if none of these is nearer to the guess, and 1 if all of them are. A guess that was learned from the
conversations that it ranks would find all of them expected. So two are learned, each from one half of the
conversations, and each ranks the other half.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from turnlens._utils.progress import progress_of
from turnlens._utils.vectors import FloatArray, IntArray, unit_vectors, with_ridge
from turnlens.groups.answer_guess import LinearGuess, fit_linear_guess
from turnlens.groups.pipeline import keys_of
from turnlens.report.corpus import Corpus

LEAST_CONVERSATIONS = 200  # with two messages or more: one half of them must teach something
LEAST_REPLIES = 20  # the least number of messages of a role for which a rank means anything
_LEARNED = 20_000  # messages that a guess is learned from, at most, spread over all
_SAMPLED = 1000  # messages of each role to compare with
_ROWS_AT_ONCE = 2048
_TURNS, _DECAY = 8, 0.7  # turns back that count, each so much as the one after it
_RIDGE = 8000  # messages; so many of mean variance are added to those that are learned from


@dataclass(frozen=True)
class _Expected:
    """The message that usually follows: the best linear guess of a message from those before it.

    Guesses and messages are compared after the variance of messages has been made the same in all directions.

    Attributes:
        mean: The mean of all messages (dim,).
        guess: The guess of messages, less the mean, from `_before`.
        whitening: What messages are multiplied by (dim, dim).
    """

    mean: FloatArray
    guess: LinearGuess
    whitening: FloatArray

    @classmethod
    def learned(cls, corpus: Corpus, rows: IntArray) -> _Expected:
        """Learn from the messages in some rows that are not the first of a conversation."""
        messages = np.array(corpus.vectors[rows], np.float32)
        mean = messages.mean(0)
        messages -= mean
        ridge = _RIDGE / len(rows)
        values, axes = np.linalg.eigh(with_ridge(messages.T @ messages, ridge))
        whitening = (axes * values**-0.5) @ axes.T
        guess = fit_linear_guess(_before(corpus, rows, mean), messages, ridge)
        return cls(mean, guess, whitening.astype(np.float32))

    def guesses(self, corpus: Corpus, rows: IntArray) -> FloatArray:
        """The guesses of the messages in some rows (rows, dim)."""
        return self.guess(_before(corpus, rows, self.mean)) @ self.whitening

    def candidates(self, vectors: FloatArray) -> FloatArray:
        """The vectors of messages as they are compared with guesses, of length 1 (n, dim)."""
        return unit_vectors((vectors - self.mean) @ self.whitening)


def measure_surprise(corpus: Corpus, seed: int) -> FloatArray:
    """The surprise of every message, float32 (n,).

    Ties count half. It is NaN for first messages, for roles with too few messages to compare with, and for all messages
    if there are too few conversations.
    """
    surprises = np.full(len(corpus.texts), np.nan, np.float32)
    if (corpus.turns > 1).sum() < LEAST_CONVERSATIONS:
        return surprises
    half = (keys_of(corpus.ids, seed) & 1)[corpus.conversation]
    with progress_of("measuring surprise", len(surprises)) as advance:
        for own in (0, 1):
            learned = np.flatnonzero((half == own) & (corpus.turn > 0))
            expected = _Expected.learned(corpus, learned[:: len(learned) // _LEARNED + 1])
            for role in np.unique(corpus.role):
                rows = np.flatnonzero((half != own) & (corpus.role == role))
                if len(rows) > LEAST_REPLIES:
                    surprises[rows] = _ranks(expected, corpus, rows, seed)
                advance(len(rows))
    return surprises


def _ranks(expected: _Expected, corpus: Corpus, rows: IntArray, seed: int) -> FloatArray:
    """The share of sampled messages among some that are nearer to the guess of each than it is; NaN for first ones."""
    chosen = np.random.default_rng(seed).choice(rows, min(_SAMPLED, len(rows)), replace=False)
    pool = expected.candidates(corpus.vectors[np.sort(chosen)])
    shares = np.full(len(rows), np.nan, np.float32)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        places = start + np.flatnonzero(corpus.turn[rows[start : start + _ROWS_AT_ONCE]] > 0)
        guesses = expected.guesses(corpus, rows[places])
        own = (guesses * expected.candidates(corpus.vectors[rows[places]])).sum(1, keepdims=True)
        scores = guesses @ pool.T
        is_same = np.abs(scores - own) <= 1e-5 * np.linalg.norm(guesses, axis=1, keepdims=True)  # itself, or its text
        shares[places] = np.where(is_same, 0.5, scores > own).mean(1)
    return shares


def _before(corpus: Corpus, rows: IntArray, mean: FloatArray) -> FloatArray:
    """Sums of the messages before each, the latest weighing most: of the same role and of others (rows, 2 · dim)."""
    sums = np.zeros((2, len(rows), len(mean)), np.float32)
    for distance in range(1, _TURNS + 1):
        has = corpus.turn[rows] >= distance
        earlier = rows[has] - distance
        is_other = (corpus.role[earlier] != corpus.role[rows[has]]).astype(np.int64)
        sums[is_other, np.flatnonzero(has)] += _DECAY ** (distance - 1) * (corpus.vectors[earlier] - mean)
    return np.concatenate(list(sums), axis=1)
