"""Data collators: a list of conversations in, the tensors of one training step out."""

from turnwise.collators.conversations import ConversationCollator
from turnwise.collators.messages import MessageCollator
from turnwise.collators.parts import PartsCollator
from turnwise.collators.teacher import TaughtCollator
from turnwise.collators.teacher_vectors import TeacherVectors
from turnwise.collators.turn_order import TurnOrderCollator
from turnwise.collators.utterances import UtteranceCollator

__all__ = [
    "ConversationCollator",
    "MessageCollator",
    "PartsCollator",
    "TaughtCollator",
    "TeacherVectors",
    "TurnOrderCollator",
    "UtteranceCollator",
]
