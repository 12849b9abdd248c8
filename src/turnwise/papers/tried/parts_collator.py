"""The data collator of local-to-global distillation: a random part of each conversation."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

from turnwise.data.messages import Message
from turnwise.encoders.rendering import Keep, Renderer

_SHARE = (0.3, 0.6)  # of the messages of a conversation


class PartsCollator:
    """Renders 30 to 60 % of the messages of each conversation of a batch, in their order, as one row.

    Which ones depends on the seed, the epoch and the conversation's id alone.

    Args:
        encoder: The encoder.
        max_length: Longest row in tokens; by default the encoder's limit.
        keep: Which turns of longer parts to keep, see `turnwise.encoders.rendering.Renderer`.
        seed: Seed of the parts.
    """

    # The trainer asks every collator which columns hold labels. There are none.
    valid_label_columns: ClassVar[list[str]] = []

    def __init__(
        self, encoder: SentenceTransformer, max_length: int | None = None, keep: Keep = "head", seed: int = 0
    ) -> None:
        self.renderer = Renderer(encoder, max_length, keep)
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Draw different parts from now on."""
        self.epoch = epoch

    def __call__(self, conversations: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        """Collate a batch.

        Args:
            conversations: Rows of ``id``, ``messages`` and ``dialogue``, the number of the conversation.

        Returns:
            Tensors, with the prefix ``messages_`` that the trainer strips again: ``input_ids``, ``attention_mask``,
            ``speaker`` and ``turn`` (conversations, length), see `turnwise.encoders.rows.Rows`, and ``dialogue``
            (conversations,).
        """
        rows = self.renderer.rows([self._part(row) for row in conversations])
        tensors = {**rows.as_dict(), "conversation": torch.tensor([row["conversation"] for row in conversations])}
        return {f"messages_{name}": tensor for name, tensor in tensors.items()}

    def _part(self, row: dict[str, Any]) -> list[Message]:
        messages = row["messages"]
        generator = random.Random(f"{self.seed} {self.epoch} {row['id']}")
        count = max(1, round(len(messages) * generator.uniform(*_SHARE)))
        return [messages[number] for number in sorted(generator.sample(range(len(messages)), count))]
