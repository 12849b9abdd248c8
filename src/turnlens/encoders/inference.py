"""Passes of an encoder with torch: on a GPU, of a few texts, and for what ONNX Runtime is not given here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, get_args

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense as DenseModule
from sentence_transformers.base.modules import Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding
from torch import Tensor
from typing_extensions import override

from turnlens._utils.vectors import FloatArray
from turnlens.encoders.encoder import Encoder, Half
from turnlens.encoders.encoder_parts import Dense, EncoderParts, NeedsTorch, check_after, check_pooling
from turnlens.encoders.forward import encode_rows, full_precision, pad_right, padded, slice_budget, slice_rows
from turnlens.encoders.messages import newest_words_kept
from turnlens.encoders.onnx_graph import is_supported, tensor_shapes
from turnlens.encoders.rendering import TokenRows
from turnlens.encoders.tokenizing import TOKENIZING, cut_texts, transformers_ids
from turnlens.encoders.transformer import added_modules, after_pooling, state_arrays, transformer_of


@contextmanager
def inference(encoder: SentenceTransformer, dtype: Half | None = None) -> Iterator[None]:
    """Inside the block, the encoder runs without gradients and dropout.

    Args:
        encoder: The encoder.
        dtype: Compute in half precision, which moves cosines by some thousandths; by default as it was loaded.

    Raises:
        ValueError: An unknown ``dtype``.
    """
    if dtype is not None and dtype not in get_args(Half):
        raise ValueError(f"dtype must be 'bfloat16', 'float16' or None, got {dtype!r}")
    encoder.eval()
    kind = getattr(torch, dtype) if dtype is not None else None
    with torch.inference_mode(), torch.autocast(encoder.device.type, kind, enabled=dtype is not None):
        yield


def parts_of(encoder: SentenceTransformer) -> EncoderParts:
    """The arrays of an encoder as it is now.

    Raises:
        NeedsTorch: It is made of other modules than `EncoderParts` knows, or of a transformer of another kind.
    """
    first, *modules = list(encoder)
    if type(first) is not Transformer or not modules or type(modules[0]) is not Pooling or encoder.truncate_dim:
        raise NeedsTorch("is not a transformer with a pooling")
    transformer = transformer_of(encoder)
    config = transformer.config.to_dict()
    if not is_supported(config) or added_modules(encoder):
        raise NeedsTorch("is of another kind")
    weights, pooling = state_arrays(transformer), modules[0]
    if any(weights[key].shape != shape for key, shape in tensor_shapes(config).items() if "word_emb" not in key):
        raise NeedsTorch("has weights of other shapes")
    after = []
    for module in modules[1:]:
        if type(module) not in (DenseModule, Normalize):
            raise NeedsTorch(f"has a module {type(module).__name__}")
        after.append(_dense(module) if isinstance(module, DenseModule) else None)
    mode = check_pooling(pooling.pooling_mode, bool(pooling.include_prompt))
    arrays = {key: weights[key] for key in tensor_shapes(config)}
    return EncoderParts(config, lambda: arrays, mode, tuple(after), torch.get_num_threads())


def has_hooks(encoder: SentenceTransformer) -> bool:
    """Return whether something else has to run with an encoder's passes."""
    return bool(
        encoder._forward_pre_hooks or encoder._forward_hooks or "forward" in {*vars(encoder), *vars(encoder[0])}
    )


def _dense(module: DenseModule) -> Dense:
    activation = type(module.activation_function).__name__
    check_after("Dense", activation, module.get_config_dict())
    arrays = state_arrays(module.linear)
    return Dense(arrays["weight"], arrays.get("bias", np.zeros(len(arrays["weight"]), np.float32)), activation)


class TorchPasses(Encoder, SentenceTransformer):
    """The passes of an encoder through whatever modules it has."""

    @override
    def embed_batch(
        self, texts: list[str], prompt: str, batch_size: int | None, dtype: Half | None, newest: bool
    ) -> FloatArray:
        """Embed texts.

        If its inputs are not rows padded on the right (static embeddings, sequences packed for FlashAttention), its own
        ``encode`` is used.
        """
        # There is no padding, so larger batches are always faster.
        stock_size = batch_size or (1024 if isinstance(self[0], StaticEmbedding) else 64)
        with inference(self, dtype):
            features = self._features(texts, prompt, newest) if isinstance(self[0], Transformer) else {}
            if _are_right_padded(features):
                return self._passes(features, batch_size)
            vectors = self.encode(texts, prompt=prompt or None, batch_size=stock_size, show_progress_bar=False)
            return vectors.astype(np.float32, copy=False)

    @override
    def token_rows(self, texts: list[str], prompt: str = "", newest: bool = False) -> list[list[int]]:
        features = self._features(texts, prompt, newest)
        return [ids[mask.bool()].tolist() for ids, mask in zip(features["input_ids"], features["attention_mask"])]

    def _features(self, texts: list[str], prompt: str, newest: bool) -> dict[str, Any]:
        texts = cut_texts(transformers_ids(self.tokenizer), texts, self.max_seq_length, newest)
        with TOKENIZING, newest_words_kept(self.tokenizer) if newest else nullcontext():
            return self.preprocess(texts, prompt=prompt or None)

    @override
    def embed_rows(self, rows: Sequence[Sequence[int]]) -> FloatArray:
        ids, mask = pad_right(rows, self.tokenizer.pad_token_id or 0), pad_right([[1] * len(row) for row in rows], 0)
        with inference(self):
            return self._passes({"input_ids": ids, "attention_mask": mask}, None)

    @override
    def token_sums(
        self, rows: TokenRows, owners: Sequence[Sequence[int]], count: int, dtype: Half | None = None
    ) -> tuple[FloatArray, FloatArray]:
        tensors = padded(rows, getattr(self.tokenizer, "pad_token_id", 0))._asdict()
        inputs = {name: tensor.to(self.device) for name, tensor in tensors.items()}
        owner = pad_right(owners, 0).to(self.device)
        sums, counts = torch.zeros(0), torch.zeros(count, device=self.device)
        with inference(self, dtype):
            for piece in encode_rows(self, inputs):
                with full_precision(self.device):
                    if not len(sums):
                        sums = piece.tokens.new_zeros(count, piece.tokens.shape[2])
                    into = owner[piece.rows, : piece.tokens.shape[1]].flatten()
                    sums.index_add_(0, into, piece.tokens.flatten(0, 1))  # zero where padded
                    counts.index_add_(0, into, piece.mask.flatten())
        return sums.cpu().numpy(), counts.cpu().numpy()

    @override
    def after_pooling(self, vectors: FloatArray) -> FloatArray:
        with inference(self):
            pooled = after_pooling(self, torch.from_numpy(vectors).to(self.device))
        return pooled.cpu().numpy()

    def _passes(self, features: dict[str, Any], batch_size: int | None) -> FloatArray:
        """The vectors of tokenized texts (texts, dim)."""
        lengths = features["attention_mask"].sum(1)
        order = lengths.argsort(stable=True)
        vectors = []
        for rows in slice_rows(order, lengths[order].tolist(), slice_budget(self.device), batch_size):
            length = int(lengths[rows].max())
            inputs = {
                name: _moved(value[rows, :length], self.device) if isinstance(value, Tensor) else value
                for name, value in features.items()
            }
            vectors.append(self(inputs)["sentence_embedding"])
        # Fetched once for all slices, so that a GPU does not wait for each.
        embedded = torch.cat(vectors)[order.argsort().to(self.device)]
        return embedded[:, : self.truncate_dim].float().cpu().numpy()


def _are_right_padded(features: dict[str, Any]) -> bool:
    """Return whether columns of padding alone can be cut off on the right of a slice."""
    shapes = {value.shape for value in features.values() if isinstance(value, Tensor)}
    mask = features.get("attention_mask")
    return len(shapes) == 1 and isinstance(mask, Tensor) and mask.ndim == 2 and bool(mask[:, 0].all())


def _moved(tensor: Tensor, device: torch.device) -> Tensor:
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)
