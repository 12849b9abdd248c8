"""Learning conversation vectors from those of messages; vectors of joined texts teach. The encoder is unchanged."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from turnwise._utils.progress import progress_bar
from turnwise._utils.vectors import FloatArray, IntArray, unit_vectors
from turnwise.encoders.centre import Centre
from turnwise.losses.distillation import soft_neighbours

_STEPS = 100
_DIALOGUES_IN_STEP = 384
_TEMPERATURE = 0.05
_SHARE = (0.3, 0.6)  # of the messages of a conversation: this part has to tell as much as all of them
_LEARNING_RATE, _WEIGHT_LEARNING_RATE = 1e-3, 1.0
_WARM_UP = 5


class _Student(nn.Module):
    """A `Centre` that learns."""

    def __init__(self, centre: Centre) -> None:
        super().__init__()
        # The scale does not matter for the vectors, which have length 1, but learning rates are for numbers of this
        # size.
        stretch = centre.stretch / np.linalg.norm(centre.stretch, 2)
        self.mean, self.stretch, self.weight = (
            nn.Parameter(torch.from_numpy(array.astype(np.float32))) for array in (centre.mean, stretch, centre.weight)
        )

    def forward(self, vectors: Tensor, tokens: Tensor, owner: Tensor, conversations: int) -> Tensor:
        """From messages (n, dim), their numbers of tokens (n,) and conversations (n,) to (conversations, dim)."""
        weighted = vectors * (tokens * (vectors @ self.weight).exp()).unsqueeze(1)
        pooled = weighted.new_zeros(conversations, weighted.shape[1]).index_add(0, owner, weighted)
        return normalize((normalize(pooled, dim=1) - self.mean) @ self.stretch, dim=1)

    def learned(self) -> Centre:
        return Centre(*(array.detach().numpy() for array in (self.mean, self.stretch, self.weight)))


def distill_centre(
    centre: Centre, vectors: FloatArray, tokens: IntArray, starts: IntArray, teacher: FloatArray, seed: int = 0
) -> Centre:
    """Learn a centre for conversations pooled from messages.

    Args:
        centre: The centre to start from.
        vectors: The vector of each message, with the messages of one conversation in a row (messages, dim).
        tokens: How many tokens each message has (messages,).
        starts: Where each conversation starts (conversations,).
        teacher: Conversation vectors whose similarities are learned (conversations, any).
        seed: Seed of batches and parts.
    """
    generator = torch.Generator().manual_seed(seed)
    units = torch.from_numpy(unit_vectors(vectors).astype(np.float32))
    counts = torch.from_numpy(np.maximum(tokens, 1).astype(np.float32))
    owner = torch.from_numpy(np.repeat(np.arange(len(starts)), np.diff([*starts, len(vectors)])))
    taught = torch.from_numpy(unit_vectors(teacher).astype(np.float32))
    student = _Student(centre)
    optimizer = torch.optim.Adam(
        [
            {"params": [student.mean, student.stretch], "lr": _LEARNING_RATE},
            {"params": [student.weight], "lr": _WEIGHT_LEARNING_RATE},
        ]
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / _WARM_UP, 1.0) * (1 - step / _STEPS)
    )
    with progress_bar() as bar:
        for _ in bar.track(range(_STEPS), description="learning from the joined texts"):
            drawn = torch.randperm(len(starts), generator=generator)[:_DIALOGUES_IN_STEP]
            place = torch.full((len(starts),), -1)
            place[drawn] = torch.arange(len(drawn))
            rows = (place[owner] >= 0).nonzero().squeeze(1)
            into = place[owner[rows]]
            part = _parts(into, len(drawn), generator)
            wholes = student(units[rows], counts[rows], into, len(drawn))
            parts = student(units[rows[part]], counts[rows[part]], into[part], len(drawn))
            optimizer.zero_grad()
            scores, targets = parts @ wholes.T, taught[drawn] @ taught[drawn].T
            soft_neighbours(scores, targets, torch.eye(len(drawn), dtype=torch.bool), _TEMPERATURE).mean().backward()
            optimizer.step()
            schedule.step()
    return student.learned()


def _parts(owner: Tensor, conversations: int, generator: torch.Generator) -> Tensor:
    """Whether a message is in the random part of its conversation, which holds at least one message (messages,)."""
    low, high = _SHARE
    share = torch.rand(conversations, generator=generator) * (high - low) + low
    lots = torch.rand(len(owner), generator=generator)
    lowest = torch.ones(conversations).scatter_reduce(0, owner, lots, "amin")
    return (lots < share[owner]) | (lots == lowest[owner])
