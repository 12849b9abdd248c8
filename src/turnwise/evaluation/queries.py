"""Sampling the queries of a task."""

from __future__ import annotations

import numpy as np


def sample_queries(count: int, wanted: int | None, seed: int) -> list[int]:
    """The first ``wanted`` of a random order, sorted: a larger sample contains every smaller one."""
    if wanted is not None and wanted < 1:
        raise ValueError(f"max_queries must be 1 or more, got {wanted}")
    return sorted(np.random.default_rng(seed).permutation(count)[:wanted].tolist())
