"""Negatives of DialogueCSE (section 3): random responses of the whole corpus, or those that were released with it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from datasets import Dataset
from torch import Tensor
from typing_extensions import override

from turnlens.data.messages import Message
from turnlens.papers.pieces import UtterancePool
from turnlens.training.collators import Row, TextCollator

_TRIES = 100


@dataclass
class ResponseNegatives:
    """Draws utterances that differ from a response: another conversation first, and then an utterance of it.

    Attributes:
        pool: The utterances of the corpus.
        count: Negatives for each response.
        same_role: Draw utterances of the response's own role, if other conversations have that role.
        seed: Seed of the draws.
        epoch: The epoch; each one gets new draws.
    """

    pool: UtterancePool
    count: int
    same_role: bool = False
    seed: int = 0
    epoch: int = 0

    def of(
        self, conversation: str, start: int, messages: Sequence[Message], responses: Sequence[int]
    ) -> list[list[str]]:
        """The negatives of some messages of a conversation, or of a piece of it that begins at ``start``."""
        generator = random.Random(f"{self.seed} {self.epoch} {conversation} {start}")
        return [[self._other(conversation, messages[turn], generator) for _ in range(self.count)] for turn in responses]

    def _other(self, conversation: str, response: Message, generator: random.Random) -> str:
        role = response["role"] if self.same_role else None
        for _ in range(_TRIES):
            text = self.pool.draw_by_conversation(role, conversation, generator)
            if text != response["content"]:
                return text
        raise ValueError(f"no utterance outside the conversation {conversation!r} found that differs from a response")


@dataclass
class ReleasedNegatives:
    """Draws from the candidates that a released corpus has for its responses, the label ``negatives`` of a message.

    Attributes:
        count: Negatives for each response; drawn with repetitions only where there are fewer.
        seed: Seed of the draws.
        epoch: The epoch; each one gets new draws.
    """

    count: int
    seed: int = 0
    epoch: int = 0

    def of(
        self, conversation: str, start: int, messages: Sequence[Mapping[str, Any]], responses: Sequence[int]
    ) -> list[list[str]]:
        """As `ResponseNegatives.of`."""
        generator = random.Random(f"{self.seed} {self.epoch} {conversation} {start}")
        return [self._some(messages[turn], generator) for turn in responses]

    def _some(self, response: Mapping[str, Any], generator: random.Random) -> list[str]:
        others = [text for text in response["negatives"] if text != response["content"]]
        if len(others) < self.count:
            return generator.choices(others, k=self.count)
        return generator.sample(others, self.count)


def released_responses(conversations: Dataset) -> set[tuple[int, int]]:
    """The responses that come with negatives, as numbers of conversation and message; empty for most corpora."""
    if "negatives" not in str(conversations.features["messages"]):
        return set()
    return {
        (row, turn)
        for row, messages in enumerate(conversations["messages"])
        for turn, message in enumerate(messages)
        if any(text != message["content"] for text in message.get("negatives") or ())
    }


@dataclass(frozen=True)
class ResponseNegativesCollator(TextCollator):
    """Collates utterances together with negatives of each response, which are drawn from the corpus and encoded, too.

    Attributes:
        negatives: Draws the negatives.
    """

    negatives: ResponseNegatives | ReleasedNegatives = field(kw_only=True)

    def set_epoch(self, epoch: int) -> None:
        """Draw different negatives from now on."""
        self.negatives.epoch = epoch

    @override
    def turns(self, conversations: Sequence[Row]) -> tuple[dict[str, int], dict[str, Tensor]]:
        """As for `TextCollator`, and ``negative_text`` (turns, count), the rows of each turn's negatives.

        The rows are -1 where the turn is not a response. In a row of data with ``response``, the number of a message,
        only that message is a response.
        """
        texts, batch = super().turns(conversations)
        rows = [self._negative_rows(row, texts) for row in conversations]
        return texts, {**batch, "messages_negative_text": torch.cat(rows)}

    def _negative_rows(self, row: Row, texts: dict[str, int]) -> Tensor:
        """Rows of the negatives of a conversation's turns (turns, count), -1 for none; new texts are added."""
        messages = row["messages"]
        rows = torch.full((len(messages), self.negatives.count), -1)
        responses = [row["response"]] if "response" in row else range(len(messages))
        for turn, drawn in zip(responses, self.negatives.of(row["id"], row.get("start", 0), messages, responses)):
            rows[turn] = torch.tensor([texts.setdefault(text, len(texts)) for text in drawn])
        return rows
