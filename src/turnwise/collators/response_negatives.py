"""Random responses from the whole corpus, as negatives of DialogueCSE (section 3)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from turnwise.collators.mixing import UtterancePool
from turnwise.data.messages import Message

_TRIES = 100


@dataclass
class ResponseNegatives:
    """Draws utterances of other conversations that differ from a response.

    Attributes:
        pool: The utterances of the corpus.
        count: Negatives for each response.
        same_role: Draw those of the response's own role, as far as other conversations have it.
        seed: Seed of the draws.
        epoch: They are fresh every epoch.
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
            text = self.pool.draw(role, conversation, generator)
            if text != response["content"]:
                return text
        raise ValueError(f"no utterance outside the conversation {conversation!r} found that differs from a response")
