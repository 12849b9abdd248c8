"""Training on processors: linear layers through oneDNN where that is quicker, with gradients too."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from typing_extensions import override

from turnlens import _compat


def through_onednn(device: torch.device) -> AbstractContextManager[Any]:
    """Inside the block, float32 linear layers use oneDNN where it is quicker, with gradients or without."""
    return _ThroughOneDnn() if device.type == "cpu" and is_quicker() else nullcontext()


def is_quicker() -> bool:
    """Return whether linear layers are quicker through oneDNN than by torch itself."""
    return _compat.has_onednn_linear() and not _is_made_by_intel()


@cache
def _is_made_by_intel() -> bool:
    described = Path("/proc/cpuinfo")  # only Linux has it
    return "GenuineIntel" in (described.read_text() if described.is_file() else platform.processor())


@contextmanager
def transformer_through_onednn(encoder: SentenceTransformer) -> Iterator[None]:
    """Inside the block, each pass through the encoder's transformer is one `through_onednn`."""
    forward = encoder[0].forward

    def quicker(*features: Any, **further: Any) -> Any:
        with through_onednn(encoder.device):
            return forward(*features, **further)

    with replaced_forward(encoder[0], quicker):
        yield


@contextmanager
def replaced_forward(module: nn.Module, forward: Callable[..., Any]) -> Iterator[None]:
    """Inside the block, a module has another forward pass."""
    before = module.__dict__.get("forward")
    module.forward = forward
    try:
        yield
    finally:
        if before is None:
            del module.forward
        else:
            module.forward = before


class _ThroughOneDnn(TorchFunctionMode):
    @override
    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        in_float32 = func is functional.linear and not kwargs and args[0].dtype is args[1].dtype is torch.float32
        if in_float32 and not torch.is_autocast_enabled("cpu"):  # which would compute it in bfloat16
            return _Linear.apply(*args, *(None,) * (3 - len(args)))
        return func(*args, **(kwargs or {}))


class _Linear(torch.autograd.Function):
    """``torch.nn.functional.linear`` whose gradients go through oneDNN too."""

    @staticmethod
    def forward(context: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        context.save_for_backward(x, weight)
        return _compat.onednn_linear(x, weight, bias)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        (gradient,) = gradients
        x, weight = context.saved_tensors
        of_x, of_weight, of_bias = context.needs_input_grad
        rows, inputs = gradient.flatten(0, -2), x.flatten(0, -2)
        return (
            _compat.onednn_linear(gradient, weight.t()) if of_x else None,
            _compat.onednn_linear(rows.t(), inputs.t()) if of_weight else None,
            rows.sum(0) if of_bias else None,
        )
