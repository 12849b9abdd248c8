"""Sampling the queries of a task, and saying what is left out of it."""

from __future__ import annotations

import logging

import numpy as np


def sample_queries(count: int, wanted: int | None, seed: int) -> list[int]:
    """The first ``wanted`` of a random order, sorted, so that a larger sample contains every smaller one."""
    if wanted is not None and wanted < 1:
        raise ValueError(f"max_queries must be 1 or more, got {wanted}")
    return sorted(np.random.default_rng(seed).permutation(count)[:wanted].tolist())


def warn_of_left_out(count: int, total: int, kind: str) -> None:
    """Log how many of the rows of an evaluation say nothing about an encoder and are left out, if any."""
    if count:
        logging.getLogger("turnwise").warning("left out of the evaluation: %d %s, of %d", count, kind, total)
