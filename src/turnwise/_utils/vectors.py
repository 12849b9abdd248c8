"""Vectors of length 1."""

from __future__ import annotations

import numpy as np


def normalised(vectors: np.ndarray) -> np.ndarray:
    """Vectors (..., dim) scaled to length 1; zero stays zero."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1))
