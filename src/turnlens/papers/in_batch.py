"""Settings of the recipes that contrast a response with the responses of other conversations in the batch."""

from __future__ import annotations

from dataclasses import dataclass

from turnlens.papers.adaptation import AdaptedRecipe
from turnlens.training.losses.in_batch import InBatchSettings, check_batch_size


@dataclass(frozen=True)
class InBatch(AdaptedRecipe, InBatchSettings):
    """The common part of methods that contrast responses with those of other conversations in the batch."""

    # Six times the paper's, and the same for all methods: better on the default encoder, see docs/research-log.
    learning_rate: float = 3e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_batch_size(self.batch_size)
