"""Composed queries: the reply head learns by telling the true next message from those of other conversations.

The query that is used at inference is the one that is trained, over all prefixes of all conversations of a batch, by
cross-entropy over their responses (as SASRec learns sequences of items; Kang and McAuley, ICDM 2018), instead of the
squared errors of single cosines.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from turnlens._utils.arguments import check_positive
from turnlens.encoders.forward import take
from turnlens.encoders.reply_head import ReplyHead
from turnlens.training.losses.base import CosineSettings
from turnlens.training.losses.in_batch import InBatchSettings, Turns, batch_softmax


@dataclass(frozen=True)
class ComposedSettings(CosineSettings, InBatchSettings):
    """Settings of `composed_loss`.

    Attributes:
        context_turns: How many turns back the head looks.
    """

    context_turns: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "context_turns")


def last_turns(conversation: Tensor, count: int) -> Tensor:
    """Return the turns before each turn in its conversation, the latest first.

    Args:
        conversation: The conversation of each turn, with the turns of one conversation in a row (turns,).
        count: How many turns back.

    Returns:
        Turn numbers, -1 where there is none (turns, count).
    """
    numbers = torch.arange(len(conversation), device=conversation.device)[:, None]
    earlier = numbers - torch.arange(1, count + 1, device=conversation.device)
    same = conversation[earlier.clamp(min=0)] == conversation[:, None]
    return earlier.where((earlier >= 0) & same, -1)


def composed_loss(
    head: ReplyHead,
    vectors: Tensor,
    speaker: Tensor,
    conversation: Tensor,
    text_key: Tensor,
    settings: ComposedSettings,
    teacher: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """Cross-entropy of each turn that has a predecessor against the turns of other conversations.

    Args:
        head: The head.
        vectors: The vector of each turn, of length 1 (turns, dim).
        speaker: A number for each speaker of a conversation (turns,).
        conversation: The position in the batch of each turn's conversation, with its turns in a row (turns,).
        text_key: Equal for equal texts, which are never negatives of each other (turns,).
        settings: The settings.
        teacher: A teacher's vectors of the context before each turn and of the turn itself, both of length 1. The
            teacher's distribution over the candidates, at the same temperature, is learned as well. (turns, its dim)
            each.

    Returns:
        The mean over turns, a scalar.
    """
    queries, has_context = composed_queries(head, vectors, speaker, conversation)
    queries, candidates = queries / settings.temperature, head.candidates(vectors)
    taught = None if teacher is None else (teacher[0] / settings.temperature, teacher[1])
    return batch_softmax(queries, candidates, has_context, conversation, text_key, settings.negatives, taught)


def composed_ranks(head: ReplyHead, vectors: Tensor, speaker: Tensor, conversation: Tensor, text_key: Tensor) -> Tensor:
    """The rank of each turn that has a predecessor among itself and the turns of other conversations, 1 for the best.

    Arguments are those of `composed_loss`.

    Returns:
        (turns with a predecessor,)
    """
    queries, has_context = composed_queries(head, vectors, speaker, conversation)
    rows = has_context.nonzero().squeeze(1)
    scores = queries[rows] @ head.candidates(vectors).T  # (rows, turns)
    better = scores > scores.gather(1, rows[:, None])
    return 1 + (better & Turns.gather(conversation, text_key).negatives(rows, "batch")).sum(1)


def composed_queries(head: ReplyHead, vectors: Tensor, speaker: Tensor, conversation: Tensor) -> tuple[Tensor, Tensor]:
    """The query for each turn (turns, dim), and whether anything precedes the turn (turns,)."""
    earlier = last_turns(conversation, head.turns)  # (turns, D)
    rows = earlier.clamp(min=0)
    queries = head.queries(take(vectors, rows), speaker[rows] == speaker[:, None], earlier >= 0)
    return queries, earlier[:, 0] >= 0
