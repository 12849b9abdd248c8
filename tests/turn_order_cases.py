"""Cases of the tests of CCL and C3L: embeddings text by text, and one literal batch."""

from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

from turnlens.papers.triple_encoders.collator import TurnOrderCollator
from turnlens.papers.triple_encoders.views import view_prompt, views_of


def features_of(encoder: SentenceTransformer, conversations: Any, **settings: Any) -> list[dict[str, Tensor]]:
    batch = TurnOrderCollator(encoder, **settings)(list(conversations))
    return [{name.removeprefix("messages_"): value for name, value in batch.items()}]


def cosine(a: Tensor, b: Tensor) -> Tensor:
    return torch.cosine_similarity(a, b, dim=0)


class Turn(NamedTuple):
    number: int  # in the batch
    text: str
    speaker: str


class Literal:
    """The batch turn by turn, with embeddings by the stock encoder."""

    def __init__(self, encoder: SentenceTransformer, conversations: Any, features: dict[str, Tensor]) -> None:
        self.encoder = encoder
        self.vectors: dict[tuple[str, str], Tensor] = {}  # each is needed many times
        self.rows = features["rows"]
        numbers = count()
        speakers = views_of(encoder).speakers
        self.talks = [
            [Turn(next(numbers), m["content"], m["role"] if speakers else "") for m in row["messages"]]
            for row in conversations
        ]

    def windows(self, window: int) -> Iterator[tuple[list[Turn], list[Turn]]]:
        """Each window, and the turns of other conversations with texts that its own conversation does not have."""
        for talk in self.talks:
            own = {turn.text for turn in talk}
            foreign = [turn for other in self.talks for turn in other if turn.text not in own]
            for start in range(len(talk) - window + 1):
                yield talk[start : start + window], foreign

    def embed(self, view: str, turn: Turn, same: bool = True) -> Tensor:
        name = view_prompt(self.encoder, view, same)
        if (name, turn.text) not in self.vectors:
            self.vectors[name, turn.text] = self.encoder.encode(turn.text, prompt_name=name, convert_to_tensor=True)
        return self.vectors[name, turn.text]

    def encoded(self, turns: list[Turn], column: int) -> list[Turn]:
        """Those of the turns that the batch has in a view."""
        return [turn for turn in turns if self.rows[turn.number, column] >= 0]
