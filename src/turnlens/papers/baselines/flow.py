"""Embeddings mapped to a standard normal by an invertible flow, as in BERT-flow (Li et al., EMNLP 2020).

The flow is Glow as simplified by the authors of BERT-flow: couplings add and do not scale, and instead of learning
how to mix dimensions (Glow's invertible 1 × 1 convolution) each step reverses their order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from typing_extensions import override

from turnlens._utils.progress import progress_of
from turnlens.papers.baselines.baseline import UtteranceBaseline, fitted, utterances

_SPEED = 3.0  # logarithms of scales learn three times as fast as other weights, as in Glow's code
_INITIAL_DEVIATION = 0.05  # of the weights inside a coupling
_CONSTANT = 1e-6  # a dimension that deviates less does not vary


class ActivationNorm(nn.Module):
    """Shifts and scales each dimension; the first batch it sees gets mean 0 and deviation 1.

    Dimensions that do not vary in that batch are shifted only: some encoders have a few.

    Args:
        dim: The number of dimensions.
        has_begun: Start without any shift and scale instead.
    """

    def __init__(self, dim: int, has_begun: bool = False) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(dim))
        self.log_scale = nn.Parameter(torch.zeros(dim))
        self.has_begun = has_begun

    @override
    def forward(self, x: Tensor) -> Tensor:
        if not self.has_begun:
            with torch.no_grad():
                self.shift.copy_(-x.mean(0))
                deviation = x.std(0, unbiased=False)
                self.log_scale.copy_(-deviation.where(deviation > _CONSTANT, 1.0).log() / _SPEED)
            self.has_begun = True
        return (x + self.shift) * (_SPEED * self.log_scale).exp()

    def log_determinant(self) -> Tensor:
        """Of the Jacobian, a scalar."""
        return _SPEED * self.log_scale.sum()


class Step(nn.Module):
    """Activation norm, reversed order, and a coupling: the first half decides what is added to the second."""

    def __init__(self, dim: int, width: int) -> None:
        super().__init__()
        self.first = dim // 2
        self.norm = ActivationNorm(dim)
        layers = [nn.Linear(size, width, bias=False) for size in (self.first, width)]
        for layer in layers:
            nn.init.normal_(layer.weight, std=_INITIAL_DEVIATION)
        last = nn.Linear(width, dim - self.first, bias=False)
        nn.init.zeros_(last.weight)
        hidden = [module for layer in layers for module in (layer, ActivationNorm(width), nn.ReLU())]
        self.added = nn.Sequential(*hidden, last, ActivationNorm(dim - self.first, has_begun=True))

    @override
    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(x).flip(1)
        first, second = x[:, : self.first], x[:, self.first :]
        return torch.cat([first, second + self.added(first)], dim=1)


class Glow(nn.Module):
    """Levels of steps; after each level but the last, half of the dimensions are done.

    Args:
        dim: The number of dimensions, 2 or more in the last level.
        levels: Levels.
        depth: Steps in each level.
        width: Hidden units of the couplings.
    """

    def __init__(self, dim: int, levels: int = 3, depth: int = 3, width: int = 32) -> None:
        super().__init__()
        if dim // 2 ** (levels - 1) < 2:
            raise ValueError(f"{levels} levels need {2**levels} dimensions or more, got {dim}")
        sizes = [dim // 2**level for level in range(levels)]
        self.levels = nn.ModuleList(nn.ModuleList(Step(size, width) for _ in range(depth)) for size in sizes)

    @override
    def forward(self, x: Tensor) -> Tensor:
        """From embeddings to the latent space: (texts, dim) both."""
        done: list[Tensor] = []
        for number, level in enumerate(self.levels):
            for step in level:  # type: ignore[attr-defined]
                x = step(x)
            if number + 1 < len(self.levels):
                x, rest = x[:, : x.shape[1] // 2], x[:, x.shape[1] // 2 :]
                done.append(rest)
        return torch.cat([*done, x], dim=1)

    def log_likelihoods(self, x: Tensor) -> Tensor:
        """Of embeddings (texts, dim), under a standard normal in the latent space, in nats (texts,)."""
        z = self(x)
        normal = -0.5 * (z.square() + math.log(2 * math.pi)).sum(1)
        # Nothing else changes volumes.
        return normal + sum(step.norm.log_determinant() for level in self.levels for step in level)  # type: ignore


class Flow:
    """Glow as BERT-flow uses it, trained by maximum likelihood on frozen embeddings.

    Args:
        base: The baseline whose embeddings are mapped; it is fitted first, on the same conversations.
        epochs: Passes over the conversations' distinct utterances.
        learning_rate: Learning rate of Adam.
        batch_size: Texts per step.
        seed: Seed of weights and order.

    Attributes:
        likelihoods: After fitting, the mean log-likelihood of a text in every epoch, in nats per dimension.
    """

    def __init__(
        self, base: UtteranceBaseline, epochs: int = 1, learning_rate: float = 1e-3, batch_size: int = 64, seed: int = 0
    ) -> None:
        self.base = base
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.seed = seed
        self.likelihoods: list[float] = []
        self.glow: Glow | None = None

    def fit(self, conversations: Any) -> Self:
        """Train on conversations.

        Raises:
            ValueError: There is no text.
        """
        texts = utterances(conversations)
        embeddings = torch.from_numpy(self.base.fit(conversations).encode_messages(texts))
        with torch.random.fork_rng():  # the caller's generator stays as it was
            torch.manual_seed(self.seed)
            self.glow = Glow(embeddings.shape[1])
            self.likelihoods = self._train(self.glow, embeddings)
        return self

    def encode_messages(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts, float32 (texts, dim)."""
        glow = fitted(self.glow, self)
        with torch.no_grad():
            mapped: Tensor = glow(torch.from_numpy(self.base.encode_messages(texts)))
        return mapped.numpy()

    def _train(self, glow: Glow, embeddings: Tensor) -> list[float]:
        optimizer = torch.optim.Adam(glow.parameters(), lr=self.learning_rate)
        likelihoods = []
        with progress_of("training the flow", self.epochs * len(embeddings)) as advance:
            for _ in range(self.epochs):
                total = 0.0
                for rows in torch.randperm(len(embeddings)).split(self.batch_size):
                    likelihood = glow.log_likelihoods(embeddings[rows]).sum() / embeddings.shape[1]
                    optimizer.zero_grad()
                    (-likelihood / len(rows)).backward()
                    torch.nn.utils.clip_grad_norm_(glow.parameters(), 1.0)
                    optimizer.step()
                    total += likelihood.item()
                    advance(len(rows))
                likelihoods.append(total / len(embeddings))
        return likelihoods
