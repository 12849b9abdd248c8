"""The settings of groups."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal, get_args

Granularity = Literal["coarse", "medium", "fine"]
LEAST = 5  # of what is repeated: fewer are chance
MOST = 1 / 2  # the share from which on something is said of most


@dataclass(frozen=True)
class GroupSettings:
    """The settings of groups.

    Attributes:
        sample: The most vectors that groups are fitted to; all others are assigned to these groups.
        granularity: The fineness of the groups: ``"coarse"``, ``"medium"`` or ``"fine"``, or about how many there are
            of each role.
        history: Group messages together with the messages before them, see `add_history`.
        role: Who asks; by default the role that opens most conversations. Each role that takes part in most
            conversations, and this one in any case, has groups of its own.
        seed: Seed of the sample and of everything random.

    Examples:
        >>> GroupSettings(granularity=0)
        Traceback (most recent call last):
        ValueError: granularity must be coarse, medium, fine or a number of groups from 1, got 0
    """

    sample: int = 20_000
    granularity: Granularity | int = "medium"
    history: bool = False
    role: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.sample < 2:
            raise ValueError(f"sample must be 2 or more, got {self.sample}")
        if self.granularity not in get_args(Granularity) and not (
            isinstance(self.granularity, int) and self.granularity >= 1
        ):
            raise ValueError(
                f"granularity must be coarse, medium, fine or a number of groups from 1, got {self.granularity!r}"
            )


def neighbours_among(count: int) -> int:
    """Return the number of nearest vectors that each of a sample is joined with, and that vote on a group.

    >>> neighbours_among(900)
    10
    """
    return min(max(round(sqrt(count) / 3), LEAST), 30)
