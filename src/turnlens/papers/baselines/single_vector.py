"""The single-vector baseline of the triple-encoders paper: a dual encoder like ConveRT (Henderson et al., 2020).

The whole context becomes one vector, the response goes through the same encoder, and their cosine competes with those
of the other responses of the batch in a softmax. Unlike `turnlens.papers.SiameseLoss`, nothing but the encoder is
trained: ranking by its cosines is exactly what it learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn
from torch.nn.functional import normalize
from typing_extensions import override

from turnlens._utils.arguments import check_positive
from turnlens.encoders.forward import encode_sliced, full_precision, sliced_means, take
from turnlens.papers import citations
from turnlens.papers.baselines.siamese import of_previous_turn
from turnlens.training.losses.base import ConversationLoss
from turnlens.training.losses.in_batch import InBatchSettings, batch_softmax


@dataclass(frozen=True)
class SingleVectorSettings(InBatchSettings):
    """Settings of `SingleVectorLoss`.

    Attributes:
        context: ``"joined"``, the preceding turns as one text; or ``"averaged"``, the mean of two vectors, that of the
            previous turn and that of all turns before it joined (ConveRT's multi-context model, with its averaged score
            only).
        temperature: Divides the cosines.
    """

    context: Literal["joined", "averaged"] = "joined"
    temperature: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "temperature")


class SingleVectorLoss(ConversationLoss[SingleVectorSettings]):
    """Cosine of a context's single vector and the response, with a softmax over the responses of the batch.

    Takes the features of `turnlens.papers.JoinedContextCollator`. The trained model's
    vector of a joined context is that of `turnlens.encoders.in_context.encode_contexts`.

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
            return batch_softmax(
                contexts / self.settings.temperature,
                take(embeddings, turn_text),
                context_text >= 0,
                conversation,
                text_key,
                self.settings.negatives,
            )
