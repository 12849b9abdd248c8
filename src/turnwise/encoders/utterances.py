"""Embedding utterances, each distinct text once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from sentence_transformers import SentenceTransformer

from turnwise._utils.progress import shows_progress
from turnwise._utils.vectors import embed_distinct


def encode_utterances(
    encoder: SentenceTransformer,
    texts: Sequence[str],
    batch_size: int = 64,
    show_progress_bar: bool = False,
    prompt_name: str | None = None,
) -> np.ndarray:
    """Embed utterances, each distinct text once.

    Args:
        encoder: The encoder.
        texts: The utterances.
        batch_size: Texts per forward pass.
        show_progress_bar: Show a progress bar on a terminal.
        prompt_name: The encoder's prompt to put before each text; by default that of the encoder, if any.

    Returns:
        Embeddings, float32 (len(texts), dim).
    """
    if not len(texts):
        return np.zeros((0, encoder.get_embedding_dimension() or 0), dtype=np.float32)
    encode = partial(
        encoder.encode,
        prompt_name=prompt_name,
        batch_size=batch_size,
        show_progress_bar=show_progress_bar and shows_progress(),
    )
    return embed_distinct(encode, texts).astype(np.float32, copy=False)
