"""Data collators: a list of conversations or messages in, the tensors of one training step out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from typing_extensions import override

from turnlens._utils.arguments import require_list
from turnlens.encoders.tokenizing import truncated_ids

Row = dict[str, Any]


@dataclass(frozen=True)
class TextCollator:
    """Conversations to messages, every distinct text tokenised (and so encoded) once per batch.

    Attributes:
        encoder: The encoder whose tokenizer is used.
        max_length: Longest message in tokens, special tokens included; longer ones are cut.
    """

    encoder: SentenceTransformer
    max_length: int = 64

    # The trainer asks every collator which columns hold labels. There are none.
    valid_label_columns: ClassVar[list[str]] = []

    def __post_init__(self) -> None:
        if self.max_length < 3:
            raise ValueError(f"max_length must leave room for a token between the special ones, got {self.max_length}")

    def __call__(self, conversations: Sequence[Row]) -> dict[str, Tensor]:
        """Collate a batch.

        Returns:
            Tensors, with the prefix ``messages_`` that the trainer strips again: ``input_ids`` and
            ``attention_mask`` (texts, length); ``turn_text`` (turns,), the row of each turn's text;
            ``conversation`` (turns,), the position in the batch of each turn's conversation; and ``text_key``
            (turns,), equal for equal texts in any process.
        """
        texts, batch = self.turns(conversations)
        return batch | self.padded(self.tokenize(texts, self.max_length))

    def turns(self, conversations: Sequence[Row]) -> tuple[dict[str, int], dict[str, Tensor]]:
        """Return the distinct texts of a batch, each with its row, and the tensors that need no tokens."""
        turns = [
            (number, message["content"]) for number, row in enumerate(conversations) for message in row["messages"]
        ]
        return self.distinct([text for _, text in turns], [number for number, _ in turns])

    def distinct(self, turns: Sequence[str], conversation: Sequence[int]) -> tuple[dict[str, int], dict[str, Tensor]]:
        """Return `turns` from the text and the conversation of each turn."""
        texts: dict[str, int] = {}
        return texts, {
            "messages_turn_text": torch.tensor([texts.setdefault(text, len(texts)) for text in turns]),
            "messages_conversation": torch.tensor(conversation),
            "messages_text_key": torch.tensor([text_key(text) for text in turns]),
        }

    def tokenize(self, texts: Iterable[str], max_length: int) -> list[Tensor]:
        """Return the token ids of each text, cut at ``max_length`` or the encoder's own limit."""
        texts = require_list(texts, "texts")
        if not texts:
            return []
        limit = min(max_length, self.encoder.max_seq_length or max_length)
        return [torch.tensor(row) for row in truncated_ids(self.encoder.tokenizer, texts, limit)]

    def padded(self, ids: Sequence[Tensor]) -> dict[str, Tensor]:
        """Return token ids as ``input_ids`` and ``attention_mask`` of the batch."""
        padding = self.encoder.tokenizer.pad_token_id
        return {
            "messages_input_ids": pad_sequence(list(ids), batch_first=True, padding_value=padding),
            "messages_attention_mask": pad_sequence([torch.ones_like(row) for row in ids], batch_first=True),
        }


def text_key(text: str) -> int:
    """Return a 63-bit number, the same for equal texts in every process and run."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


@dataclass(frozen=True)
class MessageCollator(TextCollator):
    """Makes batches of messages, each read alone, and of the numbers of their conversations."""

    @override
    def turns(self, conversations: Sequence[Row]) -> tuple[dict[str, int], dict[str, Tensor]]:
        """As for `TextCollator`, with a turn for each message, and ``message`` (messages,), its own number.

        Args:
            conversations: Rows of ``text``; ``conversation``, the number of the message's conversation; and
                ``message``, its own number among all messages.
        """
        texts, batch = self.distinct(
            [row["text"] for row in conversations], [row["conversation"] for row in conversations]
        )
        return texts, {**batch, "messages_message": torch.tensor([row["message"] for row in conversations])}
