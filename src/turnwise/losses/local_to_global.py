"""Soft local-to-global distillation: a part of a dialogue is as near to other dialogues as all of it is to a teacher.

Unlike a contrast, it knows no negatives: how alike two dialogues are is what the teacher says.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import kl_div

_NEVER = -1e9  # the logit of a dialogue as its own neighbour; finite, so that the divergence is


def local_to_global(scores: Tensor, taught: Tensor, itself: Tensor, temperature: float) -> Tensor:
    """KL divergence of distributions over dialogues from a teacher's, of each row (rows,).

    Args:
        scores: Cosines of parts of dialogues with whole ones (rows, dialogues).
        taught: The teacher's cosines of the whole dialogues (rows, dialogues).
        itself: Where a row's own dialogue is, which is left out (rows, dialogues).
        temperature: Divides all cosines.
    """
    found, wanted = ((cosines / temperature).masked_fill(itself, _NEVER).log_softmax(1) for cosines in (scores, taught))
    return kl_div(found, wanted, log_target=True, reduction="none").sum(1)
