"""Any Hugging Face encoder or encoder–decoder, such as BERT, RoBERTa, T5, TOD-BERT or Blender."""

from __future__ import annotations

import os
from typing import Self

import torch
from safetensors import SafetensorError
from transformers import AutoModel, AutoTokenizer, PreTrainedModel

from turnlens.data.messages import Conversations
from turnlens.encoders.transformer import positions
from turnlens.papers.baselines.token_pooling import Pooling, TokenPooling


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
