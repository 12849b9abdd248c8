"""Switching off parts of an encoder while it learns: lower layers, word embeddings, attention dropout.

Lower layers are frozen so that the encoder does not forget what it knew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from sentence_transformers import SentenceTransformer
from torch import nn

from turnlens._compat import attention_dropouts
from turnlens.encoders.added_weights import added_modules
from turnlens.encoders.transformer import transformer_layers, transformer_of


def check_frozen_layers(layers: int, depth: int) -> None:
    """Raise ``ValueError`` if ``layers`` of ``depth`` transformer layers cannot be frozen."""
    if not 0 <= layers < depth:
        raise ValueError(f"cannot freeze {layers} layers: the encoder has {depth}, and one at least must learn")


@contextmanager
def frozen_lower_layers(encoder: SentenceTransformer, layers: int) -> Iterator[None]:
    """Inside the block, the embeddings and the lowest ``layers`` transformer layers do not learn.

    They are not merely left out of the optimiser: no gradient reaches them, so their backward pass is never run
    and their activations are not kept; and they stay in evaluation mode, so no dropout noise enters below the
    layers that learn. What a method has added to the embeddings is frozen with them once it has learned. Until then it
    learns, so the backward pass has to go all the way down.

    Args:
        encoder: The encoder.
        layers: How many of the lowest layers; 0 freezes nothing, not even the embeddings.

    Raises:
        ValueError: The encoder has fewer layers, or none would be left to learn.
    """
    if layers == 0:
        yield
        return
    stack = transformer_layers(encoder)
    check_frozen_layers(layers, len(stack))
    # Everything registered before the first layer that learns: embeddings and lower layers in any architecture.
    first_learning = next(stack[layers].parameters())
    frozen = []
    for parameter in encoder.parameters():
        if parameter is first_learning:
            break
        if parameter.requires_grad:
            parameter.requires_grad = False
            frozen.append(parameter)
    for added in added_modules(encoder):
        if added.have_learned:
            added.requires_grad_(False)
            frozen += added.parameters()
    modules = list(_wholly_frozen(encoder))
    for module in modules:
        module.eval()
        # Trainers call train() on the whole model before every step, but these modules must stay in evaluation mode.
        module.train = lambda mode=True, module=module: module  # type: ignore[method-assign,misc]
    try:
        yield
    finally:
        for module in modules:
            del module.train
        for parameter in frozen:
            parameter.requires_grad = True


@contextmanager
def learning_rows(encoder: SentenceTransformer, rows: Sequence[int]) -> Iterator[None]:
    """Inside the block, only some rows of the word embeddings learn, even if their layer is frozen.

    Args:
        encoder: The encoder.
        rows: The rows; if there are none, nothing changes.
    """
    if not rows:
        yield
        return
    weight = transformer_of(encoder).get_input_embeddings().weight
    others = torch.ones(len(weight), 1, dtype=torch.bool)
    others[list(rows)] = False
    did_learn = weight.requires_grad
    weight.requires_grad = True
    handle = weight.register_hook(lambda gradient: gradient.masked_fill(others.to(gradient.device), 0))
    try:
        yield
    finally:
        handle.remove()
        weight.requires_grad = did_learn


@contextmanager
def no_attention_dropout(encoder: SentenceTransformer) -> Iterator[None]:
    """Inside the block, attention weights are not dropped, so that attention may take its fast, fused path.

    Any other dropout stays. Encoders whose attention stores its dropout under another name are left as they are.
    """
    dropouts = list(attention_dropouts(encoder))
    shares = [dropout.p for dropout in dropouts]
    for dropout in dropouts:
        dropout.p = 0.0
    try:
        yield
    finally:
        for dropout, share in zip(dropouts, shares):
            dropout.p = share


def _wholly_frozen(module: nn.Module) -> Iterator[nn.Module]:
    """The largest submodules whose parameters are all frozen."""
    parameters = list(module.parameters())
    if parameters and not any(parameter.requires_grad for parameter in parameters):
        yield module
    else:
        for child in module.children():
            yield from _wholly_frozen(child)
