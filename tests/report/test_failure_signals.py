"""Failures found in conversations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.report.test_speakers import corpus
from turnlens.report.failure_signals import signals

SPOKEN = corpus("user agent user", "user user agent", "user agent user agent")
VECTORS = np.eye(3, dtype=np.float32)[[0, 2, 0, 1, 1, 2, 0, 2, 1, 2]]


def test_requests_repeated_after_an_answer_are_counted() -> None:
    asks = SPOKEN.role == SPOKEN.roles.index("user")
    said = replace(SPOKEN, time=np.full(10, np.nan))
    assert signals(said, VECTORS, asks, asks)["repeats"].tolist() == [1, 0, 0]
    assert signals(said, VECTORS, asks, np.zeros(10, bool)) == {}


def test_the_longest_wait_for_an_answer_counts() -> None:
    asks = SPOKEN.role == SPOKEN.roles.index("user")
    minutes = np.asarray([0, 5, 100, 0, 3, 4, 0, 1, 2, 9], float)
    said = replace(SPOKEN, time=60 * minutes)
    assert signals(said, VECTORS, asks, asks)["wait"].tolist() == [5, 1, 7]
    said.time[8:] = np.nan
    assert signals(said, VECTORS, asks, asks)["wait"].tolist() == [5, 1, 1]
