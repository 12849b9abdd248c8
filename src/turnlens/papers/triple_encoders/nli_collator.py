"""Conversations and inference pairs in one training: batches of the two alternate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.data_collator import SentenceTransformerDataCollator
from torch import Tensor

CONVERSATIONS, PAIRS = "conversations", "nli"


class MixedCollator:
    """Collates a batch of conversations or of pairs, and says which it is, so that the trainer picks the right loss.

    Args:
        encoder: The encoder.
        conversations: The collator of the conversations.
        max_length: Longest premise or hypothesis in tokens.
    """

    valid_label_columns: ClassVar[list[str]] = ["label"]

    def __init__(
        self, encoder: SentenceTransformer, conversations: Callable[..., dict[str, Tensor]], max_length: int
    ) -> None:
        self.conversations = conversations
        self.pairs = SentenceTransformerDataCollator(
            encoder.preprocess, valid_label_columns=self.valid_label_columns, max_length=max_length
        )

    def set_epoch(self, epoch: int) -> None:
        """Tell the collator of the conversations the epoch, if it has a ``set_epoch``."""
        if hasattr(self.conversations, "set_epoch"):
            self.conversations.set_epoch(epoch)

    def __call__(self, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Collate rows that all have the same ``dataset_name``; a row of pairs holds a list of them."""
        if rows[0]["dataset_name"] == PAIRS:
            names = [name for name in rows[0] if name != "dataset_name"]
            pairs = [dict(zip(names, pair)) for row in rows for pair in zip(*(row[name] for name in names))]
            return dict(self.pairs([{"dataset_name": PAIRS, **pair} for pair in pairs]))
        return {"dataset_name": CONVERSATIONS, **self.conversations(rows)}
