"""The data collator of local-to-global distillation: whole conversations, and a random part of each."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, ClassVar

from sentence_transformers import SentenceTransformer
from torch import Tensor

from turnwise.encoders.rendering import Keep, Renderer


class PartsCollator:
    """Renders each conversation of a batch, and some of its messages in their order, as one row each.

    The messages depend on the seed, the epoch and the conversation's id alone.

    Args:
        encoder: The encoder.
        share: The least and the largest share of the messages.
        max_length: Longest row in tokens; by default the encoder's limit.
        keep: Which turns of longer conversations, see `turnwise.encoders.rendering.Renderer`.
        seed: Seed of the parts.
    """

    # The trainer asks every collator which columns hold labels. There are none.
    valid_label_columns: ClassVar[list[str]] = []

    def __init__(
        self,
        encoder: SentenceTransformer,
        share: tuple[float, float] = (0.3, 0.6),
        max_length: int | None = None,
        keep: Keep = "head",
        seed: int = 0,
    ) -> None:
        if not 0 < share[0] <= share[1] <= 1:
            raise ValueError(f"share must be two numbers above 0 and at most 1, the smaller one first, got {share}")
        self.renderer = Renderer(encoder, max_length, keep)
        self.share = share
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Draw other parts from now on."""
        self.epoch = epoch

    def __call__(self, conversations: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        """Collate a batch.

        Returns:
            Tensors, with the prefix ``messages_`` that the trainer strips again: of the parts ``input_ids``,
            ``attention_mask``, ``speaker`` and ``turn`` (conversations, length), see `turnwise.encoders.rows.Rows`; of
            the wholes the same as ``whole_ids``, ``whole_attention_mask`` and so on.
        """
        parts = [self._part(row) for row in conversations]
        wholes = self.renderer.rows([row["messages"] for row in conversations]).as_dict()
        # Not "whole_input_ids": by its name the trainer would take it for a second text to encode.
        named = {f"whole_{name.removeprefix('input_')}": tensor for name, tensor in wholes.items()}
        tensors = self.renderer.rows(parts).as_dict() | named
        return {f"messages_{name}": tensor for name, tensor in tensors.items()}

    def _part(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        messages = row["messages"]
        generator = random.Random(f"{self.seed} {self.epoch} {row['id']}")
        count = max(1, round(len(messages) * generator.uniform(*self.share)))
        return [messages[number] for number in sorted(generator.sample(range(len(messages)), count))]
