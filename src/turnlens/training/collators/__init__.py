"""Data collators: a list of conversations in, the tensors of one training step out."""

from turnlens.training.collators.messages import MessageCollator
from turnlens.training.collators.texts import TextCollator

__all__ = [
    "MessageCollator",
    "TextCollator",
]
