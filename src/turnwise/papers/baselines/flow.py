"""Embeddings mapped to a standard normal by an invertible flow, as in BERT-flow (Li et al., EMNLP 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from turnwise._utils.optional import require
from turnwise._utils.progress import progress_bar
from turnwise.papers.baselines.corpus import fitted, utterances
from turnwise.papers.baselines.protocols import UtteranceBaseline


class Flow:
    """A flow of affine couplings (RealNVP, from zuko), trained by maximum likelihood on frozen embeddings.

    The paper's flow is Glow; in place of its learned mixing of dimensions, every coupling divides them at random.

    Args:
        base: The baseline whose embeddings are mapped; it is fitted first, on the same conversations.
        couplings: Number of couplings.
        epochs: Passes over the conversations' distinct utterances.
        learning_rate: Learning rate of Adam.
        batch_size: Texts per step.
        seed: Seed of divisions, weights and order.

    Attributes:
        likelihoods: After fitting, the mean log-likelihood of a text in every epoch, in nats per dimension.
    """

    def __init__(
        self,
        base: UtteranceBaseline,
        couplings: int = 8,
        epochs: int = 1,
        learning_rate: float = 1e-3,
        batch_size: int = 128,
        seed: int = 0,
    ) -> None:
        self.base = base
        self.couplings = couplings
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.seed = seed
        self.likelihoods: list[float] = []
        self.flow: Any = None
        self.centre = self.scale = torch.zeros(0)

    def fit(self, conversations: Any) -> Self:
        """Train on conversations.

        Raises:
            ImportError: zuko is not installed.
            ValueError: There is no text.
        """
        real_nvp = require("zuko.flows", "baselines").RealNVP
        texts = utterances(conversations)
        embeddings = torch.from_numpy(self.base.fit(conversations).encode_messages(texts))
        # Glow's first layer: each dimension starts with mean 0 and deviation 1.
        self.centre = embeddings.mean(0)
        self.scale = embeddings.std(0, unbiased=False).clamp(min=1e-6)
        standard = (embeddings - self.centre) / self.scale
        dim = standard.shape[1]
        with torch.random.fork_rng():  # the caller's generator stays as it was
            torch.manual_seed(self.seed)
            self.flow = real_nvp(dim, transforms=self.couplings, randmask=True, hidden_features=(dim,))
            self.likelihoods = self._train(self.flow, standard)
        return self

    def encode_messages(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts, float32 (texts, dim)."""
        fitted(self.flow, self)
        return self.forward(torch.from_numpy(self.base.encode_messages(texts))).numpy()

    def forward(self, embeddings: Tensor) -> Tensor:
        """From the base's embeddings to the flow's: (texts, dim) both."""
        with torch.no_grad():
            return fitted(self.flow, self)().transform((embeddings - self.centre) / self.scale)

    def inverse(self, mapped: Tensor) -> Tensor:
        """Back from the flow's embeddings to the base's: (texts, dim) both."""
        with torch.no_grad():
            return fitted(self.flow, self)().transform.inv(mapped) * self.scale + self.centre

    def _train(self, flow: Any, standard: Tensor) -> list[float]:
        """Mean log-likelihood per dimension of each epoch, without the constant that comes from the standardisation."""
        optimizer = torch.optim.Adam(flow.parameters(), lr=self.learning_rate)
        likelihoods = []
        with progress_bar() as bar:
            task = bar.add_task("training the flow", total=self.epochs * len(standard))
            for _ in range(self.epochs):
                total = 0.0
                for rows in torch.randperm(len(standard)).split(self.batch_size):
                    likelihood = flow().log_prob(standard[rows]).sum() / standard.shape[1]
                    optimizer.zero_grad()
                    (-likelihood / len(rows)).backward()
                    torch.nn.utils.clip_grad_norm_(flow.parameters(), 1.0)
                    optimizer.step()
                    total += likelihood.item()
                    bar.advance(task, len(rows))
                likelihoods.append(total / len(standard))
        return likelihoods
