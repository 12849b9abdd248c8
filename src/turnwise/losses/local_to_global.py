"""Soft local-to-global distillation: a part of a dialogue is as near to other dialogues as all of it is to a teacher.

Unlike a contrast, it knows no negatives: how alike two dialogues are is what the teacher says.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import kl_div

_NEVER = -1e9  # the logit of a dialogue as its own neighbour; finite, so that the divergence is


def local_to_global(parts: Tensor, wholes: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    """KL divergence of the students' distributions over the other dialogues from the teacher's, a scalar.

    Args:
        parts: The student's vector of some messages of each dialogue, of length 1 (dialogues, dim).
        wholes: The student's vector of each whole dialogue, of length 1 (dialogues, dim).
        teacher: The teacher's vector of each whole dialogue, of length 1 (dialogues, its dim).
        temperature: Divides the cosines of both.
    """
    itself = torch.eye(len(parts), dtype=torch.bool, device=parts.device)

    def distribution(scores: Tensor) -> Tensor:
        return (scores / temperature).masked_fill(itself, _NEVER).log_softmax(1)

    taught = distribution(teacher @ teacher.T)
    return kl_div(distribution(parts @ wholes.T), taught, log_target=True, reduction="batchmean")
