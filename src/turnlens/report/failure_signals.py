"""Signals of failure in conversations, without labels: the asker repeats a request after an answer, or waits."""

from __future__ import annotations

import numpy as np

from turnlens._utils.vectors import BoolArray, Vectors
from turnlens.groups.neighbours import nearest
from turnlens.report.corpus import Corpus

SIGNALS = ("repeats", "wait")
_ALIKE = 0.9  # of the usual cosine of a message with its nearest: two requests are about the same
_ASKED_ABOUT = 5000  # requests, at most, that tell what is usual
_AT_ONCE = 65536
_FARTHEST = 10  # requests between a request and its repetition


def signals(corpus: Corpus, vectors: Vectors, asks: BoolArray, is_request: BoolArray) -> dict[str, np.ndarray]:
    """Numbers of each conversation (m,): repeats, and wait if times are known; none if nobody is known to ask.

    ``repeats`` is 1 where a request repeats an earlier one after an answer, else 0. ``wait`` is
    the longest time that the asker waited for an answer, in minutes, NaN where it is not known. Vectors (n, dim) tell
    whether two messages are about the same.
    """
    if not is_request.any():
        return {}
    measured = dict(zip(SIGNALS, (_repeats(corpus, vectors, asks, is_request), _wait(corpus, asks))))
    return {name: values for name, values in measured.items() if np.nan_to_num(values).any()}


def _repeats(corpus: Corpus, vectors: Vectors, asks: BoolArray, is_request: BoolArray) -> np.ndarray:
    requests = np.flatnonzero(is_request)
    conversation, answers = corpus.conversation[requests], np.cumsum(~asks)[requests]
    distinct = {corpus.texts[row]: row for row in requests[:: len(requests) // _ASKED_ABOUT + 1].tolist()}
    some = np.array(vectors[[*distinct.values()]])
    alike = _ALIKE * float(np.median(nearest(some, some, 1).cosines[:, 0]))
    repeats = np.zeros(len(requests), bool)
    for back in range(1, min(_FARTHEST, len(requests) - 1) + 1):
        answered = (conversation[back:] == conversation[:-back]) & (answers[back:] > answers[:-back])
        later = np.flatnonzero(answered) + back
        for some in np.array_split(later, len(later) // _AT_ONCE + 1):
            cosines = np.einsum("nd,nd->n", vectors[requests[some]], vectors[requests[some - back]])
            repeats[some] |= cosines >= alike
    return np.isin(np.arange(len(corpus.ids)), conversation[repeats]).astype(np.float64)


def _wait(corpus: Corpus, asks: BoolArray) -> np.ndarray:
    answered = asks[:-1] & ~asks[1:] & (corpus.conversation[:-1] == corpus.conversation[1:])
    minutes = np.diff(corpus.time)[answered] / 60
    waits = np.full(len(corpus.ids), np.nan)
    np.fmax.at(waits, corpus.conversation[:-1][answered], minutes)
    return waits
