"""Learning from answers: requests that are answered alike are alike, whatever words they are made in.

All that one side of a conversation says is contrasted with all that the other says: each request finds its own answer
among those of the batch, and each answer its request. The answers are labels that nobody had to give.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize
from typing_extensions import override

from turnlens.encoders.forward import encode_sliced, full_precision, sliced_means, take
from turnlens.training.losses.base import ConversationLoss, CosineSettings
from turnlens.training.losses.in_batch import batch_softmax


class RequestAnswerLoss(ConversationLoss[CosineSettings]):
    """The softmax over the requests and answers of a batch, from request to answer and back.

    Takes the features of `turnlens.training.collators.TextCollator` of conversations of two messages, a request
    and its answer.
    """

    citation = ""

    @override
    def compute_loss(self, features: dict[str, Tensor]) -> Tensor:
        means = sliced_means(encode_sliced(self.model, features["input_ids"], features["attention_mask"]))
        pairs = take(means, features["turn_text"]).unflatten(0, (-1, 2))  # (conversations, 2, dim)
        keys, conversation = features["text_key"].unflatten(0, (-1, 2)), features["conversation"][::2]
        with full_precision(pairs.device):
            requests, answers = normalize(pairs.float(), dim=2).unbind(1)
            has_context = torch.ones_like(conversation, dtype=torch.bool)
            losses = [
                batch_softmax(of / self.settings.temperature, to, has_context, conversation, key, "batch")
                for of, to, key in ((requests, answers, keys[:, 1]), (answers, requests, keys[:, 0]))
            ]
            return torch.stack(losses).mean()
