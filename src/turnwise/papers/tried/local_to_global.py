"""Soft local-to-global distillation: parts of dialogues learn how similar a teacher finds the whole dialogues.

Unlike a contrastive loss, it has no negatives: the teacher says how similar two dialogues are. The teacher is the
encoder as it was before training.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.functional import normalize, one_hot
from typing_extensions import override

from turnwise._utils.settings import Settings, check_positive
from turnwise._utils.vectors import FloatArray
from turnwise.encoders.centre import Centre
from turnwise.encoders.forward import full_precision, sliced_means
from turnwise.encoders.rows import encode_rows
from turnwise.losses.base import ConversationLoss
from turnwise.losses.distillation import soft_neighbours
from turnwise.losses.in_batch import process_mean


@dataclass(frozen=True)
class LocalToGlobalSettings(Settings):
    """Settings of `LocalToGlobalLoss`.

    Attributes:
        temperature: Divides the cosines of the encoder and of the teacher.
        stretch: How far the vectors of both are stretched before they are compared, see `turnwise.centre`.
    """

    temperature: float = 0.05
    stretch: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "temperature")
        if not 0 <= self.stretch <= 1:
            raise ValueError(f"stretch must be from 0 (none) to 1, got {self.stretch!r}")


class LocalToGlobalLoss(ConversationLoss[LocalToGlobalSettings]):
    """Parts of dialogues learn the similarities that a teacher gives to whole ones.

    Takes the features of `turnwise.papers.tried.parts_collator.PartsCollator`.

    Args:
        model: The encoder, pooled by the mean.
        wholes: The teacher's vectors of all dialogues (dialogues, dim): those of `turnwise.ConversationEncoder` before
            the encoder learns. The centre that is applied to encoder and teacher is fitted to them.
        settings: The settings.
    """

    citation = ""

    def __init__(
        self, model: SentenceTransformer, wholes: FloatArray, settings: LocalToGlobalSettings | None = None
    ) -> None:
        super().__init__(model, settings or LocalToGlobalSettings())
        centre = Centre.fit(wholes, self.settings.stretch)
        # In a tuple, so that they are not part of this module: no checkpoint needs them.
        self._taught = tuple(map(torch.from_numpy, (centre.mean, centre.stretch, centre.apply(wholes))))

    @override
    def compute_loss(self, features: dict[str, Tensor]) -> Tensor:
        parts = sliced_means(encode_rows(self.model, features))
        with full_precision(parts.device):
            return self.compute_loss_from_embeddings(parts.float(), features["conversation"])

    def compute_loss_from_embeddings(self, parts: Tensor, dialogue: Tensor) -> Tensor:
        """The loss from the vectors of parts (parts, dim) and the numbers of their dialogues (parts,), a scalar."""
        mean, stretch, wholes = (tensor.to(parts.device) for tensor in self._taught)
        parts = normalize((normalize(parts, dim=1) - mean) @ stretch, dim=1)
        itself = one_hot(dialogue, len(wholes)).bool()  # (parts, dialogues)
        losses = soft_neighbours(parts @ wholes.T, wholes[dialogue] @ wholes.T, itself, self.settings.temperature)
        return process_mean(losses.sum(), len(parts))
