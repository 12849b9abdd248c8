"""The pooling of dial2vec (Liu et al., EMNLP 2022, Eq. 4)."""

from __future__ import annotations

from turnlens._utils.vectors import FloatArray
from turnlens.encoders.conversation_pooling import SpokenTokens


def sum_of_interlocutors(tokens: SpokenTokens) -> FloatArray:
    """The sum over speakers of the mean of their tokens, zero where nobody says anything (conversations, dim)."""
    return tokens.means().sum(1)
