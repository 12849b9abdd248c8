"""The losses: one paper, one file, with its settings."""

from turnlens.losses.base import ConversationLoss, CosineSettings
from turnlens.losses.composed import ComposedSettings, composed_loss
from turnlens.losses.in_context import InContextLoss
from turnlens.losses.request_answer import RequestAnswerLoss

__all__ = [
    "ComposedSettings",
    "ConversationLoss",
    "CosineSettings",
    "InContextLoss",
    "RequestAnswerLoss",
    "composed_loss",
]
