"""Weights between those before and those after training, and averages of several trainings."""

from __future__ import annotations

from collections.abc import Sequence

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


def average_weights(encoder: SentenceTransformer, trained: Sequence[SentenceTransformer]) -> SentenceTransformer:
    """Set an encoder's weights to the average of those of several that were trained from it, in place.

    Tokens that a training has added are left out, and so are turn tables and turn-order heads (Wortsman et al., Model
    Soups, ICML 2022).

    Raises:
        ValueError: There is none, or one has other weights than the encoder.
    """
    if not trained:
        raise ValueError("an average needs at least one trained encoder")
    states = [one.state_dict() for one in trained]
    with torch.no_grad():
        for name, weight in encoder.state_dict().items():
            if not weight.is_floating_point():
                continue
            others = [state[name] for state in states if name in state and state[name].shape[1:] == weight.shape[1:]]
            if len(others) < len(states) or any(len(other) < len(weight) for other in others if weight.ndim):
                raise ValueError(f"the encoders were not trained from the same one: their weights {name!r} differ")
            weight.copy_(torch.stack([other[: len(weight)] if weight.ndim else other for other in others]).mean(0))
    return encoder
