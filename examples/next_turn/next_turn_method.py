"""A method: each message is close to the one that follows it, and far from those of other conversations."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn.functional import normalize

from turnlens.extending import (
    ConversationLoss,
    CosineSettings,
    EncoderRecipe,
    TextCollator,
    batch_softmax,
    check_batch_size,
    check_positive,
    encode_sliced,
    full_precision,
    sliced_means,
    take,
)


@dataclass(frozen=True)
class NextTurnSettings(CosineSettings):
    """Besides the temperature: how many turns lie between a message and the one that it is to be close to."""

    distance: int = 1

    def __post_init__(self):
        super().__post_init__()
        check_positive(self, "distance")


class NextTurnLoss(ConversationLoss[NextTurnSettings]):
    citation = ""

    def compute_loss(self, features):
        means = sliced_means(encode_sliced(self.model, features["input_ids"], features["attention_mask"]))
        with full_precision(means.device):
            turns = normalize(take(means, features["turn_text"]).float(), dim=1)  # (turns, dim)
            conversation = features["conversation"]
            earlier = torch.arange(len(turns), device=turns.device) - self.settings.distance
            has_earlier = (earlier >= 0) & (conversation[earlier.clamp(min=0)] == conversation)
            contexts = take(turns, earlier) / self.settings.temperature
            return batch_softmax(contexts, turns, has_earlier, conversation, features["text_key"], "batch")


@dataclass(frozen=True)
class NextTurn(EncoderRecipe, NextTurnSettings):
    batch_size: int = 32

    def __post_init__(self):
        super().__post_init__()
        check_batch_size(self.batch_size)

    def inputs(self, encoder, conversations):
        return {
            "train_dataset": conversations,
            "data_collator": TextCollator(encoder, self.max_length),
            "loss": NextTurnLoss(encoder, NextTurnSettings.of(self)),
        }
