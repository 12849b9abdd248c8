"""What an encoder knew before training, for losses that are to keep it: which texts it held to be alike."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn.functional import kl_div, normalize

from turnwise.encoders.forward import encode_sliced, sliced_means

# The logit of what is no candidate. Finite: the divergence from a distribution without it would not be.
_NEVER = -1e9


class Untouched:
    """A frozen copy of an encoder as it is now.

    Args:
        encoder: The encoder, pooled by the mean.
    """

    def __init__(self, encoder: nn.Module) -> None:
        self._encoder = copy.deepcopy(encoder).eval().requires_grad_(False)

    @torch.no_grad()
    def vectors(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The copy's vectors of token rows, of length 1 (rows, dim)."""
        encoder = self._encoder.to(input_ids.device)
        return normalize(sliced_means(encode_sliced(encoder, input_ids, attention_mask)), dim=1)


def structure_divergence(similarities: Tensor, before: Tensor, candidates: Tensor, temperature: float) -> Tensor:
    """How far similarities have moved: KL(softmax(S₀/τ) ‖ softmax(S/τ)) of each row, the sum over rows.

    Args:
        similarities: S, of each row with each candidate (rows, turns).
        before: S₀, the same before training (rows, turns).
        candidates: Which of them count (rows, turns).
        temperature: τ.
    """
    now, then = (
        (some / temperature).masked_fill(~candidates, _NEVER).log_softmax(1) for some in (similarities, before)
    )
    return kl_div(now, then, log_target=True, reduction="sum")
