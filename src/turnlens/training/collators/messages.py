"""The data collator of learning from context: single messages of many conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from turnlens.training.collators.texts import TextCollator


@dataclass(frozen=True)
class MessageCollator:
    """Makes batches of messages, each read alone, and of the numbers that say where they come from.

    Attributes:
        messages: The collator that makes the inputs of the encoder.
    """

    messages: TextCollator

    # The trainer asks every collator which columns hold labels. There are none.
    valid_label_columns: ClassVar[list[str]] = []

    def __call__(self, messages: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        """Collate a batch.

        Args:
            messages: Rows of ``text``; ``conversation``, the number of the message's conversation; and ``message``, its
                own number among all messages.

        Returns:
            What `TextCollator` returns, with a turn for each message, and both numbers as
            ``messages_conversation`` and ``messages_message`` (messages,).
        """
        texts, batch = self.messages.distinct(
            [row["text"] for row in messages], [row["conversation"] for row in messages]
        )
        batch["messages_message"] = torch.tensor([row["message"] for row in messages])
        return batch | self.messages.padded(self.messages.tokenize(texts, self.messages.max_length))
