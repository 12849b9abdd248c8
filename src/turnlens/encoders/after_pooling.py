"""The modules of an encoder after its pooling: scaling to length 1, and perhaps a projection."""

from __future__ import annotations

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import Tensor, nn

from turnlens.encoders.context_projection import ContextProjection


def after_pooling(encoder: SentenceTransformer, pooled: Tensor) -> Tensor:
    """What an encoder makes of vectors (n, dim) that were pooled elsewhere, as of its own."""
    modules = list(encoder)
    place = next((place for place, module in enumerate(modules) if isinstance(module, Pooling)), len(modules))
    for module in modules[place + 1 :]:
        weight = next(module.parameters(), pooled)
        pooled = module({"sentence_embedding": pooled.to(weight.dtype)})["sentence_embedding"]
    return pooled.float()


def add_projection(encoder: SentenceTransformer, projection: ContextProjection) -> None:
    """Let an encoder project its vectors, by stock modules that are saved with it."""
    dim = len(projection.mean)
    dense = Dense(dim, dim, activation_function=nn.Identity())
    with torch.no_grad():
        dense.linear.weight.copy_(torch.from_numpy(projection.matrix.T))
        dense.linear.bias.copy_(torch.from_numpy(-projection.mean @ projection.matrix))
    for module in (dense, Normalize()):
        encoder.append(module.to(encoder.device))
