"""Ways to pool the tokens of a conversation, added up by speaker, into one vector: the functions of `POOLINGS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import torch
from torch import Tensor

from turnlens._utils.registries import POOLINGS
from turnlens.data.messages import Messages


@dataclass(frozen=True)
class SpokenTokens:
    """The tokens of some conversations, added up by speaker.

    Attributes:
        sums: The sum of the tokens of each speaker, in order of appearance; speaker 0 is none (conversations,
            1 + speakers, dim).
        counts: How many tokens each has (conversations, 1 + speakers).
        conversations: The conversations.
        first: The number of the first one, for errors.
        zero_if_absent: Whether a role that says nothing gives a vector of zeros, not an error.
    """

    sums: Tensor
    counts: Tensor
    conversations: Sequence[Messages]
    first: int
    zero_if_absent: bool

    def means(self) -> Tensor:
        """The mean of each speaker's tokens, zero for one who says nothing (conversations, speakers, dim)."""
        return self.sums[:, 1:] / self.counts[:, 1:].clamp(min=1).unsqueeze(-1)


# Of the tokens of some conversations, as `SpokenTokens`, their vectors (conversations, dim).
TokenPooling: TypeAlias = Callable[..., Tensor]


def token_pooling(name: str) -> TokenPooling:
    """The function of a way to pool tokens, by its name, which has been checked."""
    kind, colon, role = name.partition(":")
    pool: TokenPooling = POOLINGS[f"{kind}{colon}"]
    return partial(pool, role=role) if colon else pool


def mean(tokens: SpokenTokens) -> Tensor:
    """The mean of all tokens."""
    return tokens.sums.sum(1) / tokens.counts.sum(1, keepdim=True)


def mean_of_role(tokens: SpokenTokens, role: str) -> Tensor:
    """The mean of the tokens of one role.

    Raises:
        ValueError: It is missing from a conversation, or says nothing there.
    """
    means = tokens.means()
    pooled = torch.zeros_like(means[:, 0])
    for position, messages in enumerate(tokens.conversations):
        roles = list(dict.fromkeys(message["role"] for message in messages))
        number = roles.index(role) if role in roles else None
        if number is not None and tokens.counts[position, 1 + number]:
            pooled[position] = means[position, number]
        elif not tokens.zero_if_absent:
            raise ValueError(_absence(tokens.first + position, role, roles))
    return pooled


def _absence(conversation: int, role: str, roles: list[str]) -> str:
    if role not in roles:
        return f"conversation {conversation} has no speaker {role!r}, only {', '.join(roles)}"
    return (
        f"conversation {conversation}: {role!r} says nothing within the encoder's limit: leave such conversations "
        "out, or use long='window'"
    )
