"""Telling encoders apart: where one was loaded from, and a hash of its weights."""

from __future__ import annotations

import hashlib

import torch
from sentence_transformers import SentenceTransformer
from torch import nn

from turnlens._compat import loaded_from, set_loaded_from
from turnlens.encoders.folders import BASE_ENCODER, PACKAGE
from turnlens.encoders.transformer import transformer_of


def encoder_source(encoder: SentenceTransformer) -> str:
    """Where an encoder was loaded from: a Hub name or a path."""
    if encoder.transformers_model is None:
        return str(getattr(encoder, "source", ""))
    source = loaded_from(transformer_of(encoder))
    # The packaged copy is the published encoder; where it was installed does not matter.
    return BASE_ENCODER if f"/{PACKAGE.replace('-', '_')}/" in source else source


def set_encoder_source(encoder: SentenceTransformer, source: str) -> None:
    """Say where an encoder can be loaded from now, for what is made with it, such as a store, to find it again."""
    if encoder.transformers_model is None:
        encoder.source = source  # type: ignore[assignment]
    else:
        set_loaded_from(transformer_of(encoder), source)


def weights_digest(encoder: nn.Module) -> str:
    """A hash of the modules and parameters of an encoder or of any other model."""
    modules = str(encoder)
    if isinstance(encoder, SentenceTransformer):  # a subclass of ours has the modules and weights of a stock encoder
        modules = modules.replace(type(encoder).__name__, SentenceTransformer.__name__, 1)
    digest = hashlib.blake2b(modules.encode(), digest_size=10)
    for name, tensor in sorted(encoder.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()
