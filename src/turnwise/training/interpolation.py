"""Weights between two encoders."""

from __future__ import annotations

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor


def put_between(encoder: SentenceTransformer, before: dict[str, Tensor], share: float) -> None:
    """Move an encoder's weights back, in place, to somewhere on the straight line from those it had before.

    Args:
        encoder: The trained encoder.
        before: Weights before, by name; weights that are not among them stay.
        share: How far from those before (0) to the encoder's own (1).
    """
    weights = encoder.state_dict()
    with torch.no_grad():
        for name, start in before.items():
            if start.is_floating_point():
                weights[name].copy_(torch.lerp(start, weights[name], share))
