"""Recipes that contrast responses in the batch, and a collator that joins the turns before each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from typing_extensions import override

from turnlens.encoders.messages import joined_context, newest_words_kept
from turnlens.papers.adaptation import AdaptedRecipe
from turnlens.training.collators import Row, TextCollator
from turnlens.training.losses.in_batch import InBatchSettings, check_batch_size


@dataclass(frozen=True)
class InBatch(AdaptedRecipe, InBatchSettings):
    """The common part of methods that contrast responses with those of other conversations in the batch."""

    # Six times the paper's, and the same for all methods: better on the default encoder, see docs/research-log.
    learning_rate: float = 3e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_batch_size(self.batch_size)


@dataclass(frozen=True)
class JoinedContextCollator(TextCollator):
    """Collates utterances, and for each of them a further text that joins the turns before it.

    Attributes:
        context_turns: Up to this many turns before each turn are joined, see
            `turnlens.encoders.messages.joined_context`. The text may have this many times ``max_length`` tokens,
            within the encoder's own limit; if it is longer, the newest words are kept.
    """

    context_turns: int = 3

    @override
    def __call__(self, conversations: Sequence[Row]) -> dict[str, Tensor]:
        """As for `TextCollator`, and also ``context_text`` (turns,).

        This is the row of each turn's joined context, or -1 where nothing precedes the turn.
        """
        texts, batch = self.turns(conversations)
        ids = self.tokenize(texts, self.max_length)
        contexts = [text for row in conversations for text in self._contexts(row)]
        new = [text for text in dict.fromkeys(contexts) if text and text not in texts]
        with newest_words_kept(self.encoder.tokenizer):
            ids += self.tokenize(new, self.max_length * self.context_turns)
        texts.update({text: len(texts) + number for number, text in enumerate(new)})
        batch["messages_context_text"] = torch.tensor([texts.get(text, -1) for text in contexts])
        return batch | self.padded(ids)

    def _contexts(self, row: Row) -> list[str]:
        """For each turn, the turns before it as one text; empty where nothing precedes it."""
        texts = [message["content"] for message in row["messages"]]
        separator = self.encoder.tokenizer.sep_token
        return [
            joined_context(texts[max(0, turn - self.context_turns) : turn], separator) for turn in range(len(texts))
        ]
