"""Whether a stage runs its encoder in bfloat16, and how attention is computed then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from sentence_transformers import SentenceTransformer

from turnlens import _compat
from turnlens.encoders.transformer import transformer_of
from turnlens.training.recipes.settings import Schedule


def runs_in_bf16(settings: Schedule) -> bool:
    """Whether to run in bfloat16: as the settings say, and by default only on GPUs made for it.

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
    """The precision in which to embed the vectors that a stage learns from; ``None`` is the encoder's own."""
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
    """Whether the GPU is made for bfloat16 or, where there is no accelerator, the processor."""
    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported())
    return not torch.accelerator.is_available() and _processor_has_bf16()


def _processor_has_bf16() -> bool:
    capabilities = torch.cpu.get_capabilities()
    return any(is_available is True for name, is_available in capabilities.items() if name.endswith("bf16"))
