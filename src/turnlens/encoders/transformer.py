"""The transformer inside an encoder: checks when it is loaded, and what methods add to it or put after its pooling."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import Pooling
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from turnlens._utils.registries import ADDED_WEIGHTS
from turnlens._utils.vectors import FloatArray
from turnlens.encoders.context_projection import ContextProjection
from turnlens.encoders.weight_check import check_files, check_finite, check_settings, check_tensors, check_vocabulary
from turnlens.errors import TokenizerError


def use_mean_pooling(encoder: SentenceTransformer) -> SentenceTransformer:
    """Make the sentence embedding the mean of the last layer's token embeddings, as all methods here expect.

    An encoder that pools in another way is given a mean pooling module. Modules after the pooling (dense layers) are
    then left out, with a warning, but the scaling to length 1 is kept, once.
    """
    has_pooled = is_scaled = False
    for name, module in list(encoder.named_children()):
        if isinstance(module, Pooling):
            has_pooled = True
            if module.pooling_mode != "mean":
                setattr(encoder, name, Pooling(module.embedding_dimension, "mean"))
        elif has_pooled:
            scales = isinstance(module, Normalize)
            if not scales:
                logging.getLogger("turnlens").warning(
                    "the encoder's %s after pooling is left out: all methods train the mean of the tokens",
                    type(module).__name__,
                )
            if not scales or is_scaled:
                del encoder[list(encoder).index(module)]
            is_scaled |= scales
    return encoder


def transformer_of(encoder: SentenceTransformer) -> PreTrainedModel:
    """The transformer inside an encoder.

    Raises:
        ValueError: The encoder does not contain a transformer.
    """
    transformer = encoder.transformers_model
    if transformer is None:
        raise ValueError("this encoder contains no transformer, which training needs")
    return transformer


def state_arrays(model: nn.Module) -> dict[str, FloatArray]:
    """The weights of a model as arrays, float32, which share its memory if they are on a processor."""
    return {name: tensor.detach().float().cpu().numpy() for name, tensor in model.state_dict().items()}


def position_table(transformer: PreTrainedModel) -> nn.Embedding | None:
    """A transformer's embeddings of absolute positions; ``None`` where it has no such table."""
    for name, module in transformer.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            return module
    return None


def first_position(transformer: PreTrainedModel) -> int:
    """Return the row of a transformer's table of positions of the first token."""
    # RoBERTa and its kin start counting after the padding token's number.
    padding = getattr(position_table(transformer), "padding_idx", None)
    return padding + 1 if padding is not None else 0


def positions(transformer: PreTrainedModel) -> int | None:
    """Return the number of a transformer's positions; ``None`` where they are relative, without a limit."""
    table, first = position_table(transformer), first_position(transformer)
    if table is not None and first:
        return table.num_embeddings - first
    return getattr(transformer.config, "max_position_embeddings", None)


def transformer_layers(encoder: SentenceTransformer) -> nn.ModuleList:
    """The stack of transformer layers inside an encoder.

    Raises:
        ValueError: The encoder has none that can be found.
    """
    transformer = transformer_of(encoder)
    for module in transformer.modules():
        if isinstance(module, nn.ModuleList) and len(module) == getattr(transformer.config, "num_hidden_layers", None):
            return module
    raise ValueError("no stack of transformer layers found in this encoder: freezing layers needs one")


def restore_added_weights(encoder: SentenceTransformer, weights: str | os.PathLike[str]) -> None:
    """Add to a stock encoder what methods have added to the one that this ``model.safetensors`` is of.

    Raises:
        ValueError: Some of these weights are missing, or are of another shape.
    """
    with safe_open(weights, framework="pt") as file:
        names = list(file.keys())
    for part in ADDED_WEIGHTS:
        if any(name.startswith(f"{part}.") for name in names):
            ADDED_WEIGHTS[part](encoder, weights)


def added_modules(model: nn.Module) -> list[Any]:
    """Return the modules that methods have added to an encoder's transformer.

    Each has ``have_learned`` and ``inputs``, the names of the tensors of `turnlens.encoders.forward.Rows` it reads.

    Args:
        model: The encoder, possibly wrapped for distributed training.
    """
    transformer = getattr(getattr(model, "module", model), "transformers_model", None)
    added = [getattr(transformer, name, None) for name in ADDED_WEIGHTS]
    return [module for module in added if isinstance(module, nn.Module)]


def after_pooling(encoder: SentenceTransformer, pooled: Tensor) -> Tensor:
    """Apply the modules after the pooling to vectors that were pooled elsewhere (n, dim)."""
    modules = list(encoder)
    place = next((place for place, module in enumerate(modules) if isinstance(module, Pooling)), len(modules))
    for module in modules[place + 1 :]:
        weight = next(module.parameters(), pooled)
        pooled = module({"sentence_embedding": pooled.to(weight.dtype)})["sentence_embedding"]
    return pooled.float()


def add_projection(encoder: SentenceTransformer, projection: ContextProjection) -> None:
    """Let an encoder project its vectors, by stock modules that are saved with it."""
    dim = len(projection.mean)
    dense = Dense(dim, dim, activation_function=nn.Identity())
    with torch.no_grad():
        dense.linear.weight.copy_(torch.from_numpy(projection.matrix.T))
        dense.linear.bias.copy_(torch.from_numpy(-projection.mean @ projection.matrix))
    for module in (dense, Normalize()):
        encoder.append(module.to(encoder.device))


_LOCK = threading.Lock()


@contextmanager
def checked_loading(encoder: SentenceTransformer, name: str) -> Iterator[None]:
    """Check an encoder that is loaded within, before and after.

    Args:
        encoder: The encoder, which is complete at the end.
        name: Its folder, or its name on the Hub.

    Raises:
        DamagedEncoder: Files are not those of their checksums; tensors are missing, unexpected, of another shape or
            not finite; settings are absurd; or the tokenizer is missing or is for another model.
    """
    check_files(Path(name), name)
    with _LOCK:
        original, thread = PreTrainedModel.__dict__["from_pretrained"], threading.get_ident()

        # The only way to have transformers' own account of what is missing, which knows the names of every release.
        def from_pretrained(cls: Any, path: Any, *arguments: Any, **settings: Any) -> Any:
            if threading.get_ident() != thread:
                return original.__func__(cls, path, *arguments, **settings)
            config = settings.get("config")
            if isinstance(config, PretrainedConfig):
                check_settings(config.get_text_config().to_dict(), Path(path), name)
            settings |= {"output_loading_info": True, "ignore_mismatched_sizes": True}
            model, report = original.__func__(cls, path, *arguments, **settings)
            _check_report(model, report, name)
            return model

        PreTrainedModel.from_pretrained = classmethod(from_pretrained)
        try:
            yield
        finally:
            PreTrainedModel.from_pretrained = original
    floating = {key for key, tensor in encoder.state_dict().items() if tensor.is_floating_point()}
    check_finite({key: array for key, array in state_arrays(encoder).items() if key in floating}, name)
    _check_tokenizer(encoder, name)


def _refuse_ids_beyond(table: Any, inputs: tuple[Any, ...]) -> None:
    if inputs and inputs[0].numel() and int(inputs[0].max()) >= table.num_embeddings:
        raise TokenizerError(int(inputs[0].max()), table.num_embeddings)


def _check_report(model: PreTrainedModel, report: dict[str, Any], name: str) -> None:
    # Sentence vectors do not pass through heads of other tasks, which are outside of these parts.
    parts = {part for part, _ in model.named_children()} - {"pooler"}
    inside = ((key, key.removeprefix(f"{model.base_model_prefix}.")) for key in report["unexpected_keys"])
    unexpected = [key for key, place in inside if place.split(".")[0] in parts]
    shapes = {key: (got, expected) for key, got, expected in report["mismatched_keys"]}
    check_tensors(report["missing_keys"], unexpected, shapes, name)


def _check_tokenizer(encoder: SentenceTransformer, name: str) -> None:
    transformer, tokenizer = encoder.transformers_model, getattr(encoder, "tokenizer", None)
    if isinstance(tokenizer, PreTrainedTokenizerBase) and transformer is not None:
        rows = getattr(transformer.config.get_text_config(), "vocab_size", None)
        check_vocabulary(tokenizer.vocab_size, rows, len(tokenizer) > len(tokenizer.all_special_ids), name)
        # Words that were added may have ids beyond the table, which shows only in texts.
        transformer.get_input_embeddings().register_forward_pre_hook(_refuse_ids_beyond)
    elif isinstance(tokenizer, Tokenizer):  # of a static encoder
        check_vocabulary(tokenizer.get_vocab_size(False), getattr(encoder[0], "num_embeddings", None), True, name)
