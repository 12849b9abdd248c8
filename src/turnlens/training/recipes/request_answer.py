"""The recipe by which an encoder learns which requests are answered alike."""

from __future__ import annotations

from dataclasses import dataclass

from datasets import Dataset
from typing_extensions import override

from turnlens.data.messages import Messages
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.training.collators.texts import TextCollator
from turnlens.training.losses.base import CosineSettings
from turnlens.training.losses.request_answer import RequestAnswerLoss
from turnlens.training.recipes.objective import Inputs, Objective


@dataclass(frozen=True)
class RequestAnswer(Objective, CosineSettings):
    """All that the first speaker says against all that the others say; ``batch_size`` counts conversations."""

    learning_rate: float = 1e-4
    batch_size: int = 96
    epochs: float = 4.0
    attention_dropout: bool = False

    @property
    @override
    def stage(self) -> str:
        return "learning from answers"

    @override
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        return {
            "train_dataset": Dataset.from_list([{"messages": pair} for pair in pairs_of(conversations)]),
            "data_collator": TextCollator(encoder, self.max_length),
            "loss": RequestAnswerLoss(encoder, CosineSettings.of(self)),
        }


def pairs_of(conversations: Dataset) -> list[Messages]:
    """All words of the first speaker and all words of the others, of each conversation of two sides."""
    pairs: list[Messages] = []
    for messages in conversations["messages"]:
        sides: tuple[list[str], list[str]] = ([], [])
        for message in messages:
            sides[message["role"] != messages[0]["role"]].append(message["content"])
        if all(sides):
            pairs.append([{"content": "\n".join(side)} for side in sides])
    return pairs
