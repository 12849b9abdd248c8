"""DialogueCSE, in which a response must beat the others by a margin (Yang et al., https://arxiv.org/abs/1902.08564)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn.functional import one_hot

from turnwise.papers import DialogueCSE, DialogueCSELoss, DialogueCSESettings


class MarginLoss(DialogueCSELoss):
    def contrast(self, logits: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
        # (responses, candidates), (responses,) -> (responses,)
        margin = 0.3 / self.settings.temperature * one_hot(positive, logits.shape[1])
        return super().contrast(logits - margin, positive)


@dataclass(frozen=True)
class MarginCSE(DialogueCSE):
    def inputs(self, encoder, conversations):
        loss = MarginLoss(encoder, DialogueCSESettings.of(self))
        return {**super().inputs(encoder, conversations), "loss": loss}
