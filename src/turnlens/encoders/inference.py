"""Fast inference: texts sorted by length, in slices, through oneDNN where that is quicker."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from typing_extensions import override

from turnlens import _compat
from turnlens.encoders.forward import slice_budget, slice_rows


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


Half = Literal["bfloat16", "float16"]

_TEXTS_AT_ONCE = 1024  # tokenized together: with fewer, slices are cut short; with more, long texts fill the memory


@contextmanager
def inference(device: torch.device, dtype: Half | None = None) -> Iterator[None]:
    """Inside the block, the encoder runs without gradients, and as quickly as its processor can.

    Args:
        device: Where it runs.
        dtype: Compute in half precision, which moves cosines by some thousandths; by default as it was loaded.

    Raises:
        ValueError: An unknown ``dtype``.
    """
    if dtype is not None and dtype not in get_args(Half):
        raise ValueError(f"dtype must be 'bfloat16', 'float16' or None, got {dtype!r}")
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode())
        if dtype is not None:
            stack.enter_context(torch.autocast(device.type, getattr(torch, dtype)))
        else:
            stack.enter_context(through_onednn(device))
        yield


def encode_texts(
    encoder: SentenceTransformer,
    texts: Sequence[str],
    prompt: str | None = None,
    batch_size: int | None = None,
    dtype: Half | None = None,
    advance: Callable[[int], None] = lambda count: None,
) -> np.ndarray:
    """Embed texts, through whatever modules an encoder has.

    Args:
        encoder: The encoder. If its inputs are not rows padded on the right (static embeddings, sequences packed for
            FlashAttention), its own ``encode`` is used.
        texts: At least one text.
        prompt: What to put before each text.
        batch_size: At most this many texts in a forward pass.
        dtype: See `inference`.
        advance: Called with the number of texts that have been embedded since the last call.

    Returns:
        float32 (texts, dim)
    """
    encoder.eval()
    # There is no padding, so larger batches are always faster.
    stock_size = batch_size or (_TEXTS_AT_ONCE if isinstance(encoder[0], StaticEmbedding) else 64)
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    vectors: list[np.ndarray] = []
    with inference(encoder.device, dtype):
        for start in range(0, len(order), _TEXTS_AT_ONCE):
            batch = [texts[number] for number in order[start : start + _TEXTS_AT_ONCE]]
            features = encoder.preprocess(batch, prompt=prompt) if isinstance(encoder[0], Transformer) else {}
            if _are_right_padded(features):
                embedded = (
                    _encode_features(encoder, features, batch_size)[:, : encoder.truncate_dim].float().cpu().numpy()
                )
            else:
                embedded = encoder.encode(batch, prompt=prompt, batch_size=stock_size, show_progress_bar=False)
            vectors.append(embedded.astype(np.float32, copy=False))
            advance(len(batch))
    return np.concatenate(vectors)[np.argsort(order)]


def _are_right_padded(features: dict[str, Any]) -> bool:
    """Return whether columns of padding alone can be cut off on the right of a slice."""
    shapes = {value.shape for value in features.values() if isinstance(value, Tensor)}
    mask = features.get("attention_mask")
    return len(shapes) == 1 and isinstance(mask, Tensor) and mask.ndim == 2 and bool(mask[:, 0].all())


def _encode_features(encoder: SentenceTransformer, features: dict[str, Any], batch_size: int | None) -> Tensor:
    """The vectors of tokenized texts, on the encoder's device (texts, dim)."""
    lengths = features["attention_mask"].sum(1)
    order = lengths.argsort(stable=True)
    budget = slice_budget(encoder.device)
    vectors = []
    for rows in slice_rows(order, lengths[order].tolist(), budget, batch_size):
        length = int(lengths[rows].max())
        inputs = {
            name: _moved(value[rows, :length], encoder.device) if isinstance(value, Tensor) else value
            for name, value in features.items()
        }
        vectors.append(encoder(inputs)["sentence_embedding"])
    # Fetched once for all slices, so that a GPU does not wait for each.
    return torch.cat(vectors)[order.argsort().to(encoder.device)]


def _moved(tensor: Tensor, device: torch.device) -> Tensor:
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)
