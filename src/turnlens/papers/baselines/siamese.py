"""The Siamese baselines of the DialogueCSE paper (section 5.2.2), context and response in a softmax over the batch.

SiameseBERT_S scores a response against its previous turn (Yang et al., 2018; Reimers and Gurevych, 2019),
SiameseBERT_M against its preceding turns flattened into one text (Henderson et al., 2020). Both put a non-linear
feed-forward network on the response side, which is not part of the sentence embedding afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from typing_extensions import override

from turnlens.encoders.forward import encode_sliced, full_precision, sliced_means, take
from turnlens.papers import citations
from turnlens.training.losses.base import ConversationLoss
from turnlens.training.losses.in_batch import InBatchSettings, batch_softmax


def of_previous_turn(texts: Tensor, conversation: Tensor) -> Tensor:
    """The value of ``texts`` at each turn's previous turn, -1 where a conversation begins; all (turns,)."""
    begins = torch.ones_like(conversation, dtype=torch.bool)
    begins[1:] = conversation[1:] != conversation[:-1]
    return texts.roll(1).masked_fill(begins, -1)


@dataclass(frozen=True)
class SiameseSettings(InBatchSettings):
    """Settings of `SiameseLoss`.

    Attributes:
        context: ``"single"``, the previous turn; ``"multi"``, the preceding turns joined into one text.
    """

    context: Literal["single", "multi"] = "single"


class SiameseLoss(ConversationLoss[SiameseSettings]):
    """Dot product of context and transformed response, softmax over the responses of the batch.

    Takes the features of `turnlens.training.collators.TextCollator`, or for ``context="multi"`` those of
    `turnlens.papers.JoinedContextCollator`.

    Args:
        model: The encoder, pooled by the mean.
        settings: The settings.
    """

    citation = f"{citations.STS_FROM_CONVERSATIONS}\n{citations.CONVERT}"

    def __init__(self, model: nn.Module, settings: SiameseSettings | None = None) -> None:
        super().__init__(model, settings or SiameseSettings())
        dim = int(model.get_embedding_dimension())  # type: ignore[operator]
        self.response_network = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    @override
    def compute_loss(self, features: dict[str, Tensor]) -> Tensor:
        """The loss of a batch from the features of the collator, a scalar.

        Raises:
            ValueError: The collator made no joined contexts, which ``context="multi"`` needs.
        """
        embeddings = sliced_means(encode_sliced(self.model, features["input_ids"], features["attention_mask"]))
        conversation, turn_text = features["conversation"], features["turn_text"]
        if self.settings.context == "multi":
            if "context_text" not in features:
                raise ValueError("SiameseSettings(context='multi') needs JoinedContextCollator")
            context_text = features["context_text"]
        else:
            context_text = of_previous_turn(turn_text, conversation)
        return self.compute_loss_from_embeddings(
            embeddings, turn_text, context_text, conversation, features["text_key"]
        )

    def compute_loss_from_embeddings(
        self, embeddings: Tensor, turn_text: Tensor, context_text: Tensor, conversation: Tensor, text_key: Tensor
    ) -> Tensor:
        """The loss from the texts' embeddings (texts, dim); the other arguments as in the collator, (turns,)."""
        with full_precision(embeddings.device):
            return batch_softmax(
                take(embeddings, context_text),
                take(self.response_network(embeddings), turn_text),
                context_text >= 0,
                conversation,
                text_key,
                self.settings.negatives,
            )
