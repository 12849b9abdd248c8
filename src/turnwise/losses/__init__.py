"""The losses: one paper, one file, with its settings."""

from turnwise.losses.base import ConversationLoss, CosineSettings
from turnwise.losses.composed import ComposedSettings, composed_loss
from turnwise.losses.in_context import InContextLoss
from turnwise.losses.request_answer import RequestAnswerLoss

__all__ = [
    "ComposedSettings",
    "ConversationLoss",
    "CosineSettings",
    "InContextLoss",
    "RequestAnswerLoss",
    "composed_loss",
]
