"""Vectors in clouds, with texts that say which."""

import numpy as np

from turnlens._utils.vectors import unit_vectors

WORDS = ("refund", "parcel", "password", "invoice", "flight", "pizza", "doctor", "weather")


def clouds(groups: int, size: int, seed: int = 0, spread: float = 0.25) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Vectors of length 1 (groups · size, 32), their texts, and the cloud of each."""
    centres = unit_vectors(np.random.default_rng(7).standard_normal((len(WORDS), 32)))[:groups]
    random = np.random.default_rng(seed)
    cloud = np.repeat(np.arange(groups), size)
    vectors = unit_vectors(centres[cloud] + spread * random.standard_normal((len(cloud), 32)) / np.sqrt(32) * 2)
    texts = [f"about my {WORDS[one]} number n{seed}x{row}" for row, one in enumerate(cloud)]
    return vectors.astype(np.float32), texts, cloud
