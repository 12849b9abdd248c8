"""Distillation without negatives: a student learns which items its teacher finds similar, and how similar."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import kl_div

_NEVER = -1e9  # the logit of an item that is left out; it is finite so that the divergence is finite, too


def soft_neighbours(scores: Tensor, taught: Tensor, left_out: Tensor, temperature: float) -> Tensor:
    """For each row, the KL divergence of a student's distribution over neighbours from its teacher's (rows,).

    Args:
        scores: The student's cosines of each row's item with the others (rows, items).
        taught: The teacher's cosines of the same items (rows, items).
        left_out: Items that do not count as neighbours, such as the row's own (rows, items).
        temperature: Divides all cosines.
    """
    student, teacher = (
        (cosines / temperature).masked_fill(left_out, _NEVER).log_softmax(1) for cosines in (scores, taught)
    )
    return kl_div(student, teacher, log_target=True, reduction="none").sum(1)
