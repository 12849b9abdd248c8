"""Losses of messages read alone: in-context distillation, and learning from answers.

In the former, messages learn the similarities that they have in context. In the latter, requests that are answered
alike are alike, whatever words they are made in: all that one side of a conversation says is contrasted with all that
the other says, so that each request finds its own answer among those of the batch, and each answer its request. The
answers are labels that nobody had to give.
"""

from __future__ import annotations

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.functional import kl_div, normalize
from typing_extensions import override

from turnlens._utils.vectors import FloatArray
from turnlens.encoders.forward import encode_sliced, full_precision, sliced_means, take
from turnlens.training.losses.base import ConversationLoss, CosineSettings
from turnlens.training.losses.in_batch import among, batch_softmax, process_mean


def soft_neighbours(scores: Tensor, taught: Tensor, left_out: Tensor, temperature: float) -> Tensor:
    """For each row, the KL divergence of a student's distribution over neighbours from its teacher's (rows,).

    Args:
        scores: The student's cosines of each row's item with the others (rows, items).
        taught: The teacher's cosines of the same items (rows, items).
        left_out: Items that do not count as neighbours, such as the row's own (rows, items).
        temperature: Divides all cosines.
    """
    student, teacher = (among(cosines / temperature, ~left_out).log_softmax(1) for cosines in (scores, taught))
    return kl_div(student, teacher, log_target=True, reduction="none").sum(1)


class InContextLoss(ConversationLoss[CosineSettings]):
    """The vectors of messages read alone learn the similarities that the messages of a batch have in context.

    Takes the features of `turnlens.training.collators.MessageCollator`.

    Args:
        model: The encoder, pooled by the mean.
        in_context: Vectors of all messages in context, made before the encoder learns, for instance by
            `turnlens.ConversationEncoder.encode_messages` (messages, any). Their mean is subtracted from them.
        settings: The settings.
    """

    citation = ""

    def __init__(
        self, model: SentenceTransformer, in_context: FloatArray, settings: CosineSettings | None = None
    ) -> None:
        super().__init__(model, settings or CosineSettings())
        # In a tuple, so that they are not part of this module: no checkpoint needs them.
        self._taught = (normalize(torch.from_numpy(in_context - in_context.mean(0)), dim=1),)

    @override
    def compute_loss(self, features: dict[str, Tensor]) -> Tensor:
        slices = encode_sliced(self.model, features["input_ids"], features["attention_mask"])
        vectors = take(sliced_means(slices), features["turn_text"])
        (taught,) = self._taught
        with full_precision(vectors.device):
            losses = in_context_loss(
                normalize(vectors.float(), dim=1),
                taught[features["message"].cpu()].to(vectors.device),
                features["conversation"],
                features["text_key"],
                self.settings.temperature,
            )
            return process_mean(losses.sum(), len(losses))


def in_context_loss(
    vectors: Tensor, in_context: Tensor, conversation: Tensor, text_key: Tensor, temperature: float
) -> Tensor:
    """For each message, the divergence of its similarities when read alone from those in context (messages,).

    Messages of the same conversation are not compared, because they share its topic whatever each of them says. Equal
    texts are not compared either.

    Args:
        vectors: The vectors of the messages of a batch, each read alone, of length 1 (messages, dim).
        in_context: The vectors of the same messages in context, of length 1 (messages, any).
        conversation: The conversation of each message (messages,).
        text_key: Equal for equal texts (messages,).
        temperature: Divides all cosines.
    """
    left_out = (conversation[:, None] == conversation) | (text_key[:, None] == text_key)
    return soft_neighbours(vectors @ vectors.T, in_context @ in_context.T, left_out, temperature)


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
