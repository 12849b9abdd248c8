"""Weights between those before and those after training."""

from __future__ import annotations

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor


def interpolate_weights(encoder: SentenceTransformer, before: dict[str, Tensor], interpolation: float) -> None:
    """Move an encoder's weights back, in place, along the straight line to those it had before.

    Args:
        encoder: The trained encoder.
        before: The weights it had before, by name; weights that are not among them stay.
        interpolation: The position on the line, from those before (0) to the encoder's own (1).
    """
    weights = encoder.state_dict()
    with torch.no_grad():
        for name, start in before.items():
            if start.is_floating_point():
                weights[name].copy_(torch.lerp(start, weights[name], interpolation))
