"""The losses: one paper, one file, with its settings."""

from turnwise.losses.base import ConversationLoss
from turnwise.losses.composed import ComposedSettings, composed_loss
from turnwise.losses.in_context import InContextLoss, InContextSettings
from turnwise.losses.request_answer import RequestAnswerLoss

__all__ = [
    "ComposedSettings",
    "ConversationLoss",
    "InContextLoss",
    "InContextSettings",
    "RequestAnswerLoss",
    "composed_loss",
]
