"""The data collator of the losses on utterances: conversations in, each distinct text once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from turnwise.collators.response_negatives import ResponseNegatives
from turnwise.encoders.contexts import joined_context, newest_words_kept

Row = dict[str, Any]


@dataclass(frozen=True)
class UtteranceCollator:
    """Conversations to utterances, every distinct text tokenised (and so encoded) once per batch.

    Attributes:
        encoder: The encoder whose tokenizer is used.
        max_length: Longest utterance in tokens, special tokens included; longer ones are cut.
        joined_context_turns: If positive, up to this many turns before each turn are added as one further text, see
            `turnwise.encoders.contexts.joined_context`. It may have this many times ``max_length`` tokens, within the
            encoder's own limit; of a longer one the newest words are kept.
        negatives: Draws negatives of each response from the corpus; without it the loss takes them from the batch.
    """

    encoder: SentenceTransformer
    max_length: int = 64
    joined_context_turns: int = 0
    negatives: ResponseNegatives | None = None

    # The trainer asks every collator which columns hold labels. There are none.
    valid_label_columns: ClassVar[list[str]] = []

    def __post_init__(self) -> None:
        if self.max_length < 3:
            raise ValueError(f"max_length must leave room for a token between the special ones, got {self.max_length}")

    def set_epoch(self, epoch: int) -> None:
        """Draw different negatives from the corpus from now on."""
        if self.negatives is not None:
            self.negatives.epoch = epoch

    def __call__(self, conversations: Sequence[Row]) -> dict[str, Tensor]:
        """Collate a batch.

        Returns:
            Tensors, with the prefix ``messages_`` that the trainer strips again: ``input_ids`` and
            ``attention_mask`` (texts, length); ``turn_text`` (turns,), the row of each turn's text;
            ``conversation`` (turns,), the position in the batch of each turn's conversation; ``text_key`` (turns,),
            equal for equal texts in any process; if contexts are joined, ``context_text`` (turns,), the row of each
            turn's joined context, -1 where nothing precedes it; and, if negatives are drawn from the corpus,
            ``negative_text`` (turns, count), the rows of each turn's, -1 where it is no response: of a row with
            ``response``, the number of a message, only that one is.
        """
        texts: dict[str, int] = {}
        turn_text, conversation, keys = [], [], []
        for number, row in enumerate(conversations):
            for message in row["messages"]:
                text = message["content"]
                turn_text.append(texts.setdefault(text, len(texts)))
                conversation.append(number)
                keys.append(text_key(text))
        negative_text = [self._negative_rows(row, texts) for row in conversations]
        ids = self._tokenize(texts, self.max_length)
        batch = {
            "messages_turn_text": torch.tensor(turn_text),
            "messages_conversation": torch.tensor(conversation),
            "messages_text_key": torch.tensor(keys),
        }
        if self.negatives is not None:
            batch["messages_negative_text"] = torch.cat(negative_text)
        if self.joined_context_turns > 0:
            contexts = [text for row in conversations for text in self._joined_contexts(row)]
            new = [text for text in dict.fromkeys(contexts) if text and text not in texts]
            with newest_words_kept(self.encoder.tokenizer):
                ids += self._tokenize(new, self.max_length * self.joined_context_turns)
            texts.update({text: len(texts) + number for number, text in enumerate(new)})
            batch["messages_context_text"] = torch.tensor([texts.get(text, -1) for text in contexts])
        batch["messages_input_ids"] = pad_sequence(
            ids, batch_first=True, padding_value=self.encoder.tokenizer.pad_token_id
        )
        batch["messages_attention_mask"] = pad_sequence([torch.ones_like(row) for row in ids], batch_first=True)
        return batch

    def _negative_rows(self, row: Row, texts: dict[str, int]) -> Tensor:
        """Rows of the negatives of a conversation's turns (turns, count), -1 for none; new texts are added."""
        messages = row["messages"]
        found = torch.full((len(messages), self.negatives.count if self.negatives is not None else 0), -1)
        if self.negatives is not None:
            responses = [row["response"]] if "response" in row else range(len(messages))
            for turn, drawn in zip(responses, self.negatives.of(row["id"], row.get("start", 0), messages, responses)):
                found[turn] = torch.tensor([texts.setdefault(text, len(texts)) for text in drawn])
        return found

    def _tokenize(self, texts: Iterable[str], max_length: int) -> list[Tensor]:
        """Token ids of each text, cut at ``max_length`` or the encoder's own limit."""
        texts = list(texts)
        if not texts:
            return []
        limit = min(max_length, self.encoder.max_seq_length or max_length)
        ids = self.encoder.tokenizer(texts, truncation=True, max_length=limit)["input_ids"]
        return [torch.tensor(row) for row in ids]

    def _joined_contexts(self, row: Row) -> list[str]:
        """For each turn its preceding turns as one text; empty where nothing precedes it."""
        texts = [message["content"] for message in row["messages"]]
        separator = self.encoder.tokenizer.sep_token
        return [
            joined_context(texts[max(0, turn - self.joined_context_turns) : turn], separator)
            for turn in range(len(texts))
        ]


def text_key(text: str) -> int:
    """A 63-bit number, the same for equal texts in every process and run."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
