"""The single-vector baseline of the triple-encoders paper: a dual encoder like ConveRT (Henderson et al., 2020).

The whole context becomes one vector, the response goes through the same encoder, and their cosine meets those of the
other responses of the batch in a softmax. Unlike :class:`turnwise.losses.SiameseLoss`, nothing but the encoder
is trained: ranking by its cosines is exactly what it learned.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn
from torch.nn.functional import normalize

from turnwise.encoders.contexts import Context, check_context
from turnwise.encoders.forward import encode_sliced, full_precision, sliced_means, take
from turnwise.losses.in_batch import Negatives, check_negatives
from turnwise.losses.siamese import batch_softmax, of_previous_turn


def check_settings(context: str, temperature: float, negatives: Negatives) -> None:
    """Raise ``ValueError`` if a setting of :class:`SingleVectorLoss` is out of range."""
    check_context(context)
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, got {temperature!r}")
    check_negatives(negatives)


class SingleVectorLoss(nn.Module):
    """Cosine of a context's one vector and the response, softmax over the responses of the batch.

    Takes the features of :class:`turnwise.collators.UtteranceCollator` made with ``joined_context_turns``. The trained
    model's vector of a context is that of :func:`turnwise.encoders.contexts.encode_contexts`.

    Args:
        model: The encoder, pooled by the mean.
        context: ``"joined"``, the preceding turns as one text; ``"averaged"``, the mean of the vectors of the previous
            turn and of the turns before it joined (ConveRT's multi-context model, with its averaged score only).
        temperature: Divides the cosines.
        negatives: ``"batch"``, every response of another conversation; or a number of them drawn at random for each
            response. Equal texts are never negatives of each other.

    Raises:
        ValueError: A setting is out of range; in ``forward``, the collator made no joined contexts.
    """

    def __init__(
        self,
        model: nn.Module,
        context: Context = "joined",
        temperature: float = 0.05,
        negatives: Negatives = "batch",
    ) -> None:
        super().__init__()
        check_settings(context, temperature, negatives)
        self.model = model
        self.context = context
        self.temperature = temperature
        self.negatives = negatives

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor | None = None) -> Tensor:
        """The loss of a batch; ``sentence_features`` holds the one feature dict of the collator."""
        (features,) = sentence_features
        if "context_text" not in features:
            raise ValueError("SingleVectorLoss needs UtteranceCollator(joined_context_turns=…)")
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
            if self.context == "joined":
                contexts = take(embeddings, context_text)  # (turns, dim)
            else:
                # What the previous turn had as its context are the turns before it.
                earlier = of_previous_turn(context_text, conversation)
                contexts = take(embeddings, of_previous_turn(turn_text, conversation))
                contexts = normalize(contexts + take(embeddings, earlier) * (earlier >= 0).unsqueeze(1), dim=1)
            return batch_softmax(
                contexts / self.temperature,
                take(embeddings, turn_text),
                context_text >= 0,
                conversation,
                text_key,
                self.negatives,
            )

    def get_config_dict(self) -> dict[str, Any]:
        return {"context": self.context, "temperature": self.temperature, "negatives": self.negatives}

    @property
    def citation(self) -> str:
        return """
@inproceedings{henderson-etal-2020-convert,
    title = "{C}onve{RT}: Efficient and Accurate Conversational Representations from Transformers",
    author = "Henderson, Matthew and others",
    booktitle = "Findings of the Association for Computational Linguistics: EMNLP 2020",
    year = "2020"
}
"""
