"""Single-vector contexts: the turns before a response as one text, of which the encoder keeps the newest words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer

from turnlens._utils.arguments import require_list
from turnlens._utils.vectors import unit_vectors
from turnlens.encoders.messages import encode_messages


def joined_context(texts: Sequence[str], separator_token: str | None) -> str:
    """Turns as one text, oldest first and most recent last, with the separator token (or a line break) between them.

    The text may be too long for the encoder: encode it inside `newest_words_kept`.

    Args:
        texts: The turns, oldest first.
        separator_token: ``encoder.tokenizer.sep_token``.
    """
    return (f" {separator_token} " if separator_token else "\n").join(require_list(texts, "texts"))


@contextmanager
def newest_words_kept(tokenizer: Any) -> Iterator[None]:
    """Inside the block, a text beyond the encoder's limit loses its first words, not its last."""
    if not hasattr(tokenizer, "truncation_side"):  # of a static encoder, which has no limit
        yield
        return
    side, tokenizer.truncation_side = tokenizer.truncation_side, "left"
    try:
        yield
    finally:
        tokenizer.truncation_side = side


def encode_contexts(
    encoder: SentenceTransformer,
    contexts: Sequence[Sequence[str]],
    batch_size: int | None = None,
    show_progress_bar: bool = False,
) -> np.ndarray:
    """Embed contexts of one or more turns, each as one text.

    Args:
        encoder: The encoder.
        contexts: The turns of each context, oldest first.
        batch_size: At most this many texts in a forward pass; by default as many as suit the device.
        show_progress_bar: Show a progress bar.

    Returns:
        Embeddings of length 1, float32 (len(contexts), dim).
    """
    separator = getattr(encoder.tokenizer, "sep_token", None)
    texts = [joined_context(turns, separator) for turns in contexts]
    with newest_words_kept(encoder.tokenizer):
        return unit_vectors(encode_messages(encoder, texts, batch_size, show_progress_bar))
