"""Weights between those before and after training, and one encoder that combines what several have learned."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn


def interpolate_weights(trained: nn.Module, before: dict[str, Tensor], interpolation: float) -> None:
    """Move the weights of an encoder or a head back, in place, along the straight line to those it had before.

    Args:
        trained: The trained encoder or head.
        before: The weights it had before, by name; other weights are not changed.
        interpolation: The position on the line, from the weights before (0) to the trained ones (1).
    """
    weights = trained.state_dict()
    with torch.no_grad():
        for name, start in before.items():
            if start.is_floating_point():
                weights[name].copy_(torch.lerp(start, weights[name], interpolation))


def merge_weights(
    encoder: SentenceTransformer, trained: Sequence[SentenceTransformer], scale: float | None = None
) -> SentenceTransformer:
    """Merge into an encoder, in place, what several encoders have learned that were each trained from its weights.

    Tokens that a training added are left out, and so are turn tables and reply heads.

    Args:
        encoder: The encoder they were trained from.
        trained: The trained encoders.
        scale: The difference of each trained encoder from the encoder is multiplied by this factor, and all are added
            to the encoder. 1 gives their sum (Ilharco et al., Editing Models with Task Arithmetic, ICLR 2023). The
            default is one over their number, which gives the average of their weights (Wortsman et al., Model Soups,
            ICML 2022).

    Raises:
        ValueError: ``trained`` is empty, one of them does not have the encoder's weights, or ``scale`` is out of range.
    """
    if not trained:
        raise ValueError("merging needs at least one trained encoder")
    scale = 1 / len(trained) if scale is None else scale
    if not 0 < scale <= 2:
        raise ValueError(f"scale must be above 0 and at most 2, got {scale!r}: 1 adds what each has learned")
    states = [model.state_dict() for model in trained]
    with torch.no_grad():
        for name, weight in encoder.state_dict().items():
            if not weight.is_floating_point():
                continue
            others = [state[name] for state in states if name in state and state[name].shape[1:] == weight.shape[1:]]
            if len(others) < len(states) or any(len(other) < len(weight) for other in others if weight.ndim):
                raise ValueError(f"the encoders were not trained from the same one: their weights {name!r} differ")
            learned = [(other[: len(weight)] if weight.ndim else other).to(weight.device) - weight for other in others]
            weight.add_(torch.stack(learned).sum(0), alpha=scale)
    return encoder
