"""Last layers of transformers, pooled over their tokens: an encoder, adapted or not, or a Hugging Face model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import torch
from datasets import Dataset
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer, PreTrainedModel

from turnlens._utils.arguments import require_list
from turnlens._utils.progress import progress_of
from turnlens.data.messages import Conversations
from turnlens.encoders.forward import encode_sliced
from turnlens.encoders.tokenizing import cut_for
from turnlens.encoders.transformer import positions, transformer_of
from turnlens.papers.adaptation import Adaptation
from turnlens.training.train import train

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
        with progress_of("embedding texts", len(distinct)) as advance, torch.inference_mode():
            for start in range(0, len(distinct), _TEXTS_AT_ONCE):
                batch = distinct[start : start + _TEXTS_AT_ONCE]
                embeddings[[row_of[text] for text in batch]] = self._embed(batch)
                advance(len(batch))
        return embeddings[[row_of[text] for text in texts]]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, special ones not counted; of a long text, any above the limit."""
        texts = cut_for(self.tokenizer, require_list(texts, "texts"), self.max_length)
        if not texts:
            return []
        return [len(ids) for ids in self.tokenizer(texts, add_special_tokens=False)["input_ids"]]

    @property
    def room(self) -> int:
        """Return how many tokens a text may have, special ones not counted."""
        return self.max_length - self.tokenizer.num_special_tokens_to_add()

    def _embed(self, texts: list[str]) -> np.ndarray:
        batch = self.tokenizer(
            cut_for(self.tokenizer, texts, self.max_length),
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


class PooledEncoder(TokenPooling):
    """The last layer of an encoder's transformer, without whatever modules follow it.

    Args:
        encoder: The encoder; it is not changed.
        pooling: ``"mean"`` or ``"cls"``.
        adaptation: Continue its pre-training on the conversations given to ``fit`` (Gururangan et al., ACL 2020).
        max_length: Longest text in tokens, within the transformer's positions.
    """

    def __init__(
        self,
        encoder: SentenceTransformer,
        pooling: Pooling = "mean",
        adaptation: Adaptation | None = None,
        max_length: int = 512,
    ) -> None:
        transformer = transformer_of(encoder)
        limit = min(max_length, positions(transformer) or max_length)
        super().__init__(transformer, encoder.tokenizer, pooling, limit)
        self.encoder = encoder
        self.adaptation = adaptation

    def fit(self, conversations: Dataset) -> Self:
        """Adapt a copy of the encoder if asked to; otherwise nothing is learned."""
        if self.adaptation is not None:
            adapted = train(conversations, method=self.adaptation, encoder=self.encoder)
            self.transformer = transformer_of(adapted)
        return self


class HuggingFaceModel(TokenPooling):
    """The last hidden states of a model's encoder, pooled.

    Weights are read from safetensors only, and no code that comes with a model is run.

    Args:
        name_or_path: A name on the Hugging Face Hub, or a folder.
        pooling: ``"mean"`` or ``"cls"``; encoder–decoders have no classification token.
        max_length: Longest text in tokens, within the model's positions and the limit that its tokenizer states.
        device: A torch device; by default the accelerator if there is one.

    Raises:
        ValueError: The model cannot be loaded, its weights lack a part of the encoder, or the pooling does not suit it.
    """

    def __init__(
        self,
        name_or_path: str | os.PathLike[str],
        pooling: Pooling = "mean",
        max_length: int = 512,
        device: str | torch.device | None = None,
    ) -> None:
        name = str(name_or_path)
        try:
            tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
            model, report = AutoModel.from_pretrained(
                name, use_safetensors=True, trust_remote_code=False, output_loading_info=True
            )
        except (OSError, ValueError, SafetensorError) as error:
            raise ValueError(
                f"cannot load the model {name!r}: {error}\nIts weights must be safetensors, and models that need code "
                "of their own are not loaded."
            ) from error
        encoder = _encoder_of(model)
        if random := _missing(model, encoder, report["missing_keys"]):
            raise ValueError(f"the weights of {name!r} lack {len(random)} parameters of the encoder: {random[:3]} …")
        if device is None:
            device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
        limit = min(max_length, positions(encoder) or max_length, tokenizer.model_max_length)
        super().__init__(encoder.to(device), tokenizer, pooling, limit)

    def fit(self, conversations: Conversations) -> Self:
        """Nothing is learned."""
        return self


def _encoder_of(model: PreTrainedModel) -> PreTrainedModel:
    """The model itself, or an encoder–decoder's encoder; ``get_encoder`` of BERT would leave out its embeddings."""
    return model.get_encoder() if hasattr(model, "decoder") and hasattr(model, "encoder") else model


def _missing(model: PreTrainedModel, encoder: PreTrainedModel, missing: list[str]) -> list[str]:
    """The parameters of the encoder that were not in the file, so their values are random.

    The pooler over the first token does not count: pooling takes the last layer, and many models have none.
    """
    own = {id(parameter) for parameter in encoder.parameters()}
    names = {name for name, parameter in model.named_parameters() if id(parameter) in own and "pooler" not in name}
    return sorted(names & set(missing))
