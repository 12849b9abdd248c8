"""An encoder as it is, or after masked-language-model adaptation, pooled over its tokens (BERT-avg, BERT-CLS)."""

from __future__ import annotations

from typing import Self

from datasets import Dataset
from sentence_transformers import SentenceTransformer

from turnlens.encoders.transformer import positions, transformer_of
from turnlens.papers.adaptation import Adaptation
from turnlens.papers.baselines.token_pooling import Pooling, TokenPooling
from turnlens.training.train import train


class PooledEncoder(TokenPooling):
    """The last layer of an encoder's transformer, without whatever modules follow it.

    Args:
        encoder: The encoder; it is not changed.
        pooling: ``"mean"`` or ``"cls"``.
        adaptation: Continue its pre-training on the conversations given to ``fit`` (Gururangan et al., ACL 2020).
        max_length: Longest text in tokens, within the transformer's positions.
    """

    def __init__(
        self,
        encoder: SentenceTransformer,
        pooling: Pooling = "mean",
        adaptation: Adaptation | None = None,
        max_length: int = 512,
    ) -> None:
        transformer = transformer_of(encoder)
        limit = min(max_length, positions(transformer) or max_length)
        super().__init__(transformer, encoder.tokenizer, pooling, limit)
        self.encoder = encoder
        self.adaptation = adaptation

    def fit(self, conversations: Dataset) -> Self:
        """Adapt a copy of the encoder if asked to; otherwise nothing is learned."""
        if self.adaptation is not None:
            adapted = train(conversations, method=self.adaptation, encoder=self.encoder)
            self.transformer = transformer_of(adapted)
        return self
