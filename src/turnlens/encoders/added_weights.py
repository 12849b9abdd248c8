"""Weights that a method adds to the transformer of an encoder, and that are saved with its own."""

from __future__ import annotations

import os
from typing import Any

from safetensors import safe_open
from sentence_transformers import SentenceTransformer
from torch import nn

from turnlens._utils.registries import ADDED_WEIGHTS


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
    """The modules that methods have added to an encoder's transformer.

    Each has ``inputs``, the names of the tensors of `turnlens.encoders.rows.Rows` that it reads, and ``have_learned``.

    Args:
        model: The encoder, possibly wrapped for distributed training.
    """
    transformer = getattr(getattr(model, "module", model), "transformers_model", None)
    added = [getattr(transformer, name, None) for name in ADDED_WEIGHTS]
    return [module for module in added if isinstance(module, nn.Module)]
