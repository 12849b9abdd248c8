"""How groups are made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GroupSettings:
    """How groups are made.

    Attributes:
        sample: The most vectors that groups are fitted to; all others are assigned to these groups.
        neighbours: How many nearest vectors each vector is joined with, and how many vote on its group.
        resolution: The resolution of the fine groups: a higher value gives more and smaller groups. By default the
            highest of 4, 2, 1, … at which nine tenths of the links between neighbours stay within groups.
        coarse_resolution: The resolution of the coarse groups.
        least_share: Groups with a smaller share of the sample are dropped.
        history: Group messages together with what was said before them, see `add_history`.
        seed: Seed of the sample and of everything random.
    """

    sample: int = 20_000
    neighbours: int = 15
    resolution: float | None = None
    coarse_resolution: float = 1.0
    least_share: float = 0.001
    history: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.sample < 2 or self.neighbours < 2:
            raise ValueError(f"sample and neighbours must be 2 or more, got {self.sample} and {self.neighbours}")
        if (self.resolution is not None and self.resolution <= 0) or self.coarse_resolution <= 0:
            raise ValueError(f"resolutions must be positive, got {self.resolution} and {self.coarse_resolution}")
        if not 0 <= self.least_share < 1:
            raise ValueError(f"least_share must be from 0 to below 1, got {self.least_share}")
