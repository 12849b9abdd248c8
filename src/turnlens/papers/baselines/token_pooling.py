"""Embeddings from a transformer's last layer: the mean of its tokens, or the classification token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from turnlens._utils.arguments import require_list
from turnlens._utils.progress import progress_bar
from turnlens.encoders.forward import encode_sliced

Pooling = Literal["mean", "cls"]

_TEXTS_AT_ONCE = 512


class TokenPooling:
    """Pools the last hidden states of a transformer's encoder.

    Args:
        transformer: An encoder, or the encoder of an encoder–decoder model.
        tokenizer: Its tokenizer.
        pooling: ``"mean"`` of all tokens, or ``"cls"``, the classification token that texts start with.
        max_length: Longest text in tokens, special ones counted; longer texts are cut.

    Raises:
        ValueError: An unknown pooling, or a tokenizer that lacks a padding token or, for ``"cls"``, does not start
            texts with a classification token.
    """

    def __init__(self, transformer: PreTrainedModel, tokenizer: Any, pooling: Pooling, max_length: int) -> None:
        if pooling not in ("mean", "cls"):
            raise ValueError(f"pooling must be 'mean' or 'cls', got {pooling!r}")
        if tokenizer.pad_token_id is None:
            raise ValueError("this model's tokenizer has no padding token, so texts cannot be embedded together")
        if pooling == "cls" and tokenizer("a")["input_ids"][0] != tokenizer.cls_token_id:
            raise ValueError("this model's texts do not start with a classification token: use pooling 'mean'")
        self.transformer = transformer
        self.tokenizer = tokenizer
        self.pooling = pooling
        self.max_length = max_length

    def encode_messages(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts, each distinct one once: float32 (texts, dim)."""
        texts = require_list(texts, "texts")
        row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        distinct = sorted(row_of, key=len)  # so that texts padded together are of similar length
        embeddings = np.zeros((len(distinct), self.transformer.config.hidden_size), dtype=np.float32)
        self.transformer.eval()
        with progress_bar() as bar, torch.inference_mode():
            task = bar.add_task("embedding texts", total=len(distinct))
            for start in range(0, len(distinct), _TEXTS_AT_ONCE):
                batch = distinct[start : start + _TEXTS_AT_ONCE]
                embeddings[[row_of[text] for text in batch]] = self._embed(batch)
                bar.advance(task, len(batch))
        return embeddings[[row_of[text] for text in texts]]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, special ones not counted."""
        texts = require_list(texts, "texts")
        if not texts:
            return []
        return [len(ids) for ids in self.tokenizer(texts, add_special_tokens=False)["input_ids"]]

    @property
    def room(self) -> int:
        """How many tokens a text may have, special ones not counted."""
        return self.max_length - self.tokenizer.num_special_tokens_to_add()

    def _embed(self, texts: list[str]) -> np.ndarray:
        batch = self.tokenizer(
            texts,
            padding=True,
            padding_side="right",
            truncation=True,
            max_length=self.max_length,
            return_tensors="pt",
        ).to(self.transformer.device)
        embeddings = np.zeros((len(texts), self.transformer.config.hidden_size), dtype=np.float32)
        for piece in encode_sliced(_LastLayer(self.transformer), batch["input_ids"], batch["attention_mask"]):
            vectors = piece.means() if self.pooling == "mean" else piece.tokens[:, 0]
            embeddings[piece.rows.cpu().numpy()] = vectors.cpu().numpy()
        return embeddings


class _LastLayer(nn.Module):
    """A transformer as ``encode_sliced`` calls one."""

    def __init__(self, transformer: PreTrainedModel) -> None:
        super().__init__()
        self.transformer = transformer

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"token_embeddings": self.transformer(**features).last_hidden_state}
