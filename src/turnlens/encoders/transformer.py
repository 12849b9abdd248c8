"""The transformer inside an encoder."""

from __future__ import annotations

import logging

from sentence_transformers import SentenceTransformer
from torch import nn
from transformers import PreTrainedModel


def use_mean_pooling(encoder: SentenceTransformer) -> SentenceTransformer:
    """Make the sentence embedding the mean of the last layer's token embeddings, as all methods here expect.

    An encoder that pools in another way is given a mean pooling module. Modules after the pooling (dense layers) are
    then left out, with a warning, but the scaling to length 1 is kept, once.
    """
    from sentence_transformers.base.modules import Normalize
    from sentence_transformers.sentence_transformer.modules import Pooling

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


def position_table(transformer: PreTrainedModel) -> nn.Embedding | None:
    """A transformer's embeddings of absolute positions; ``None`` where it has no such table."""
    for name, module in transformer.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            return module
    return None


def first_position(transformer: PreTrainedModel) -> int:
    """The row of a transformer's table of positions that belongs to the first token."""
    # RoBERTa and its kin start counting after the padding token's number.
    padding = getattr(position_table(transformer), "padding_idx", None)
    return padding + 1 if padding is not None else 0


def positions(transformer: PreTrainedModel) -> int | None:
    """How many tokens a transformer has positions for; ``None`` where they are relative and there is no limit."""
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
