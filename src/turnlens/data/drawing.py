"""Drawing some conversations at random."""

from __future__ import annotations

import numpy as np
from datasets import Dataset


def draw_conversations(conversations: Dataset, count: int | None, seed: int) -> Dataset:
    """Draw conversations at random and keep their order. If there are no more than ``count``, all are returned.

    Args:
        conversations: The conversations.
        count: How many to draw; None means all.
        seed: Seed of the draw.
    """
    if count is None or count >= len(conversations):
        return conversations
    return conversations.select(np.sort(np.random.default_rng(seed).permutation(len(conversations))[:count]))
