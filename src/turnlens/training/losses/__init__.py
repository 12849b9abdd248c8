"""The losses: one paper, one file, with its settings."""

from turnlens.training.losses.base import ConversationLoss, CosineSettings
from turnlens.training.losses.composed import ComposedSettings, composed_loss
from turnlens.training.losses.in_context import InContextLoss
from turnlens.training.losses.request_answer import RequestAnswerLoss

__all__ = [
    "ComposedSettings",
    "ConversationLoss",
    "CosineSettings",
    "InContextLoss",
    "RequestAnswerLoss",
    "composed_loss",
]
