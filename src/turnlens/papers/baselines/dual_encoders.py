"""Dual encoders of context and response: SiameseBERT and single-vector encoders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from datasets import Dataset
from torch import Tensor, nn
from torch.nn.functional import normalize
from typing_extensions import override

from turnlens._utils.arguments import check_positive
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.forward import encode_sliced, full_precision, sliced_means, take
from turnlens.papers import citations
from turnlens.papers.citations import CONVERT
from turnlens.papers.in_batch import InBatch, JoinedContextCollator
from turnlens.training.collators import TextCollator
from turnlens.training.losses.base import ConversationLoss
from turnlens.training.losses.in_batch import InBatchSettings, batch_softmax
from turnlens.training.recipes.base import Inputs


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

    Examples:
        >>> from turnlens.papers import SiameseSettings
        >>> SiameseSettings(context="multi").context
        'multi'
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
            contexts = take(embeddings, context_text)
            responses = take(self.response_network(embeddings), turn_text)
            turns = (context_text >= 0, conversation, text_key)
            return batch_softmax(contexts, responses, *turns, self.settings.negatives)


@dataclass(frozen=True)
class SingleVectorSettings(InBatchSettings):
    """Settings of `SingleVectorLoss`.

    Attributes:
        context: ``"joined"``, the preceding turns as one text; or ``"averaged"``, the mean of two vectors, that of the
            previous turn and that of all turns before it joined (ConveRT's multi-context model, with its averaged score
            only).
        temperature: Divides the cosines.

    Examples:
        >>> from turnlens.papers import SingleVectorSettings
        >>> SingleVectorSettings(context="averaged").temperature
        0.05
    """

    context: Literal["joined", "averaged"] = "joined"
    temperature: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "temperature")


class SingleVectorLoss(ConversationLoss[SingleVectorSettings]):
    """Cosine of a context's single vector and the response, with a softmax over the responses of the batch.

    Takes the features of `turnlens.papers.JoinedContextCollator`. The trained model's
    vector of a joined context is that of `turnlens.encoders.messages.encode_contexts`.

    Args:
        model: The encoder, pooled by the mean.
        settings: The settings.
    """

    citation = citations.CONVERT

    def __init__(self, model: nn.Module, settings: SingleVectorSettings | None = None) -> None:
        super().__init__(model, settings or SingleVectorSettings())

    @override
    def compute_loss(self, features: dict[str, Tensor]) -> Tensor:
        """The loss of a batch from the features of the collator, a scalar.

        Raises:
            ValueError: The collator made no joined contexts.
        """
        if "context_text" not in features:
            raise ValueError("SingleVectorLoss needs JoinedContextCollator")
        embeddings = sliced_means(encode_sliced(self.model, features["input_ids"], features["attention_mask"]))
        return self.compute_loss_from_embeddings(
            embeddings, features["turn_text"], features["context_text"], features["conversation"], features["text_key"]
        )

    def compute_loss_from_embeddings(
        self, embeddings: Tensor, turn_text: Tensor, context_text: Tensor, conversation: Tensor, text_key: Tensor
    ) -> Tensor:
        """The loss from the texts' embeddings (texts, dim); the other arguments as in the collator, (turns,)."""
        with full_precision(embeddings.device):
            embeddings = normalize(embeddings, dim=1)
            if self.settings.context == "joined":
                contexts = take(embeddings, context_text)  # (turns, dim)
            else:
                # The previous turn's own context is the turns before it.
                earlier = of_previous_turn(context_text, conversation)
                contexts = take(embeddings, of_previous_turn(turn_text, conversation))
                contexts = normalize(contexts + take(embeddings, earlier) * (earlier >= 0).unsqueeze(1), dim=1)
            contexts, responses = contexts / self.settings.temperature, take(embeddings, turn_text)
            turns = (context_text >= 0, conversation, text_key)
            return batch_softmax(contexts, responses, *turns, self.settings.negatives)


@dataclass(frozen=True)
class Siamese(InBatch, SiameseSettings):
    """See `turnlens.papers.SiameseSettings` for the other settings.

    Attributes:
        context_turns: For ``context="multi"``, how many turns are joined into one text, at most.

    Examples:
        >>> from turnlens.papers import Siamese
        >>> Siamese(context="multi").context_turns
        3
    """

    context_turns: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "context_turns")

    @override
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        collator = TextCollator(encoder, self.max_length)
        if self.context == "multi":
            collator = JoinedContextCollator(encoder, self.max_length, self.context_turns)
        loss = SiameseLoss(encoder, SiameseSettings.of(self))
        return {"train_dataset": conversations, "data_collator": collator, "loss": loss}


@dataclass(frozen=True)
class SingleVector(InBatch, SingleVectorSettings):
    """See `turnlens.papers.SingleVectorSettings` for the other settings.

    Attributes:
        context_turns: How many turns are joined into one text, at most.

    Examples:
        >>> from turnlens.papers import SingleVector
        >>> SingleVector(max_steps=100).context
        'joined'
    """

    citation: ClassVar[str] = CONVERT

    context_turns: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "context_turns")

    @override
    def inputs(self, encoder: ConversationEncoder, conversations: Dataset) -> Inputs:
        collator = JoinedContextCollator(encoder, self.max_length, self.context_turns)
        loss = SingleVectorLoss(encoder, SingleVectorSettings.of(self))
        return {"train_dataset": conversations, "data_collator": collator, "loss": loss}
