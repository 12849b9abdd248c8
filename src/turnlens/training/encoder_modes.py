"""Context managers for an encoder that learns: frozen parts, bfloat16, activations that are computed again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import torch
from sentence_transformers import SentenceTransformer
from torch import nn
from torch.utils.checkpoint import checkpoint

from turnlens import _compat
from turnlens._compat import attention_dropouts
from turnlens.encoders.transformer import added_modules, transformer_layers, transformer_of
from turnlens.training.onednn import replaced_forward

if TYPE_CHECKING:
    from turnlens.training.recipes.settings import Objective, Schedule


def check_frozen_layers(layers: int, depth: int) -> None:
    """Raise ``ValueError`` if ``layers`` of ``depth`` transformer layers cannot be frozen."""
    if not 0 <= layers < depth:
        raise ValueError(f"cannot freeze {layers} layers: the encoder has {depth}, and one at least must learn")


def frozen_layers(recipe: Objective, encoder: SentenceTransformer) -> int:
    """Return the number of frozen layers: by default the lower half."""
    if recipe.frozen_layers == 0:
        return 0
    layers = len(transformer_layers(encoder))
    frozen = layers // 2 if recipe.frozen_layers is None else recipe.frozen_layers
    check_frozen_layers(frozen, layers)
    return frozen


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
    """Yield the largest submodules whose parameters are all frozen."""
    parameters = list(module.parameters())
    if parameters and not any(parameter.requires_grad for parameter in parameters):
        yield module
    else:
        for child in module.children():
            yield from _wholly_frozen(child)


def runs_in_bf16(settings: Schedule) -> bool:
    """Decide on bfloat16: as the settings say, and by default only on GPUs made for it.

    Raises:
        ValueError: The settings ask for bfloat16, without forcing it, on a processor that has no instructions for it
            and would be several times slower than in float32.
    """
    if settings.bf16 is None:
        return torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    if settings.bf16 is True and not torch.accelerator.is_available() and not _processor_has_bf16():
        raise ValueError(
            "this processor has no bfloat16 instructions (AVX-512 BF16, AMX or ARM's), without which bf16=true is "
            "several times slower than float32: leave it out, or use bf16=forced"
        )
    return bool(settings.bf16)


def half_precision(settings: Schedule) -> Literal["bfloat16"] | None:
    """Return the precision of the vectors that a stage learns from; ``None`` is the encoder's own."""
    return "bfloat16" if runs_in_bf16(settings) else None


@contextmanager
def quicker_attention(encoder: SentenceTransformer, settings: Schedule) -> Iterator[None]:
    """Inside the block, an encoder that learns in bfloat16 on a processor computes attention without fusing its steps.

    There, the gradient of torch's fused attention takes more than twice as long as that of its steps where texts are
    short, and no less time where they are of 512 tokens.
    """
    if encoder.device.type != "cpu" or not runs_in_bf16(settings):
        yield
        return
    transformer = transformer_of(encoder)
    before = _compat.attention_of(transformer)
    transformer.set_attn_implementation("eager")
    try:
        yield
    finally:
        transformer.set_attn_implementation(before)


def made_for_bf16() -> bool:
    """Return whether the GPU or, without an accelerator, the processor is made for bfloat16."""
    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported())
    return not torch.accelerator.is_available() and _processor_has_bf16()


def _processor_has_bf16() -> bool:
    capabilities = torch.cpu.get_capabilities()
    return any(is_available is True for name, is_available in capabilities.items() if name.endswith("bf16"))


@contextmanager
def recomputed_activations(encoder: SentenceTransformer, enabled: bool) -> Iterator[None]:
    """Inside the block, if enabled, passes through the transformer keep only results and are repeated for gradients."""
    if not enabled:
        yield
        return
    # Not around the whole encoder: its wrapper for several processes must not be run again in the backward pass.
    transformer = encoder[0]
    forward = transformer.forward

    def forward_again(features: dict[str, Any], **further: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(features, **further)
        return checkpoint(forward, dict(features), use_reentrant=False, **further)

    with replaced_forward(transformer, forward_again):
        yield
