"""Data collators: a list of conversations in, the tensors of one training step out."""

from turnwise.collators.messages import MessageCollator
from turnwise.collators.texts import TextCollator

__all__ = [
    "MessageCollator",
    "TextCollator",
]
