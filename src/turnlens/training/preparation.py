"""Checks, made before anything is written, that conversations and encoder fit the training."""

from __future__ import annotations

from typing import Any

from datasets import Dataset
from sentence_transformers import SentenceTransformer

from turnlens.data.cleaning import drop_empty_messages, keep_long_enough, merge_consecutive_messages
from turnlens.encoders.transformer import transformer_layers
from turnlens.training.freezing import check_frozen_layers
from turnlens.training.recipes.objective import Objective


def frozen_layers(recipe: Objective, encoder: SentenceTransformer) -> int:
    """How many layers are frozen: by default the lower half."""
    if recipe.frozen_layers == 0:
        return 0
    layers = len(transformer_layers(encoder))
    frozen = layers // 2 if recipe.frozen_layers is None else recipe.frozen_layers
    check_frozen_layers(frozen, layers)
    return frozen


def clean(conversations: Dataset, recipe: Objective) -> tuple[Dataset, dict[str, int]]:
    """Bring conversations into the form that a recipe expects: no empty messages, enough turns, alternating speakers.

    Returns:
        The conversations, and for each reason how many were left out.
    """
    left_out = {}
    before = len(conversations)
    conversations = drop_empty_messages(conversations.select_columns(["id", "messages"]))
    left_out["without text"] = before - len(conversations)
    before = len(conversations)
    if recipe.merges_turns:
        conversations = merge_consecutive_messages(conversations)
    conversations = keep_long_enough(conversations, min_turns=recipe.shortest)
    left_out[f"of fewer than {recipe.shortest} turns"] = before - len(conversations)
    if recipe.min_speakers > 1:
        before = len(conversations)
        conversations = conversations.filter(
            _have_speakers, input_columns="messages", batched=True, fn_kwargs={"n": recipe.min_speakers}
        )
        left_out[f"of fewer than {recipe.min_speakers} speakers"] = before - len(conversations)
    if len(conversations) < 2:
        speakers = f" by {recipe.min_speakers} speakers" if recipe.min_speakers > 1 else ""
        raise ValueError(
            f"training needs at least 2 conversations of {recipe.shortest} turns or more{speakers}, "
            f"got {len(conversations)}"
        )
    return conversations, {reason: count for reason, count in left_out.items() if count}


def _have_speakers(batch: list[list[dict[str, Any]]], n: int) -> list[bool]:
    return [len({message["role"] for message in messages}) >= n for messages in batch]
