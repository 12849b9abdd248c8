"""Soft local-to-global distillation: a part of a dialogue is as near to other dialogues as all of it is to a teacher.

Unlike a contrast, it knows no negatives: how alike two dialogues are is what the teacher says, and the teacher is the
encoder as it was before. What cannot be told from any part of a dialogue, and what is alike in all, loses its weight.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.functional import kl_div, normalize
from typing_extensions import override

from turnwise._utils.settings import Settings, check_positive
from turnwise._utils.vectors import FloatArray
from turnwise.encoders.centre import Centre
from turnwise.encoders.forward import full_precision, sliced_means
from turnwise.encoders.rows import encode_rows
from turnwise.losses.base import ConversationLoss
from turnwise.losses.in_batch import process_mean

_NEVER = -1e9  # the logit of a dialogue as its own neighbour; finite, so that the divergence is
# The cosine from which on two dialogues are one: a batch may be encoded in bfloat16, where the anchors were not. A dialogue
# that is its own neighbour would be a hard positive, which harms.
_ITSELF = 0.98


@dataclass(frozen=True)
class LocalToGlobalSettings(Settings):
    """Settings of `LocalToGlobalLoss`.

    Attributes:
        temperature: Divides the cosines of encoder and teacher.
        stretch: How far the vectors of both are stretched before they are compared, see `turnwise.centre_encoder`.
    """

    temperature: float = 0.05
    stretch: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "temperature")
        if not 0 <= self.stretch <= 1:
            raise ValueError(f"stretch must be from 0 (none) to 1, got {self.stretch!r}")


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


class LocalToGlobalLoss(ConversationLoss[LocalToGlobalSettings]):
    """Parts of dialogues learn the similarities that the encoder, as it was, gives to whole ones.

    Takes the features of `turnwise.collators.PartsCollator`.

    Args:
        model: The encoder, pooled by the mean. Its teacher is a copy of it as it is now.
        settings: The settings.
        anchors: The teacher's vectors of the dialogues to be near to or far from, see `turnwise.encode_conversations`
            (anchors, dim); by default those of the batch, without centre.
    """

    citation = ""

    def __init__(
        self,
        model: SentenceTransformer,
        settings: LocalToGlobalSettings | None = None,
        anchors: FloatArray | None = None,
    ) -> None:
        super().__init__(model, settings or LocalToGlobalSettings())
        self._teacher = (copy.deepcopy(model).eval().requires_grad_(False),)  # in a tuple: no part of this module
        self._anchors: tuple[Tensor, ...] = ()
        if anchors is not None:
            centre = Centre.fit(anchors, self.settings.stretch)
            arrays = (centre.mean, centre.stretch, centre.apply(anchors))
            self._anchors = tuple(torch.from_numpy(array).float() for array in arrays)

    @override
    def compute_loss(self, features: dict[str, Tensor]) -> Tensor:
        rows = ("input_ids", "attention_mask", "speaker", "turn")
        parts = sliced_means(encode_rows(self.model, {name: features[name] for name in rows}))
        (teacher,) = self._teacher
        with torch.no_grad():
            whole = {name: features[f"whole_{name.removeprefix('input_')}"] for name in rows}
            wholes = sliced_means(encode_rows(teacher.to(parts.device), whole))
        with full_precision(parts.device):
            return self.compute_loss_from_embeddings(parts.float(), wholes.float())

    def compute_loss_from_embeddings(self, parts: Tensor, wholes: Tensor) -> Tensor:
        """The loss from the vectors of parts and the teacher's of whole dialogues (dialogues, dim), a scalar."""
        parts, wholes = normalize(parts, dim=1), normalize(wholes, dim=1)
        others = wholes
        if self._anchors:
            mean, stretch, others = (tensor.to(parts.device) for tensor in self._anchors)
            parts, wholes = (normalize((vectors - mean) @ stretch, dim=1) for vectors in (parts, wholes))
        taught = wholes @ others.T
        total = local_to_global(parts @ others.T, taught, taught > _ITSELF, self.settings.temperature).sum()
        return process_mean(total, len(parts))
