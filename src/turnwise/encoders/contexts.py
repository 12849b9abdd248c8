"""Single-vector contexts: the turns before a response as one text, of which the encoder keeps the newest words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, get_args

import numpy as np
from sentence_transformers import SentenceTransformer

from turnwise._utils.vectors import unit_vectors
from turnwise.encoders.utterances import encode_utterances

Context = Literal["joined", "averaged"]


def joined_context(texts: Sequence[str], separator_token: str | None) -> str:
    """Turns as one text, oldest first and most recent last, with the separator token (or a line break) between them.

    The text may be too long for the encoder: encode it inside `newest_words_kept`.

    Args:
        texts: The turns, oldest first.
        separator_token: ``encoder.tokenizer.sep_token``.
    """
    return (f" {separator_token} " if separator_token else "\n").join(texts)


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
    context: Context = "joined",
    batch_size: int | None = None,
    show_progress_bar: bool = False,
) -> np.ndarray:
    """Embed contexts of one or more turns, each as one vector.

    Args:
        encoder: The encoder.
        contexts: The turns of each context, oldest first.
        context: ``"joined"``, all turns as one text; or ``"averaged"``, the mean of two vectors of length 1, that of
            the last turn alone and that of the earlier turns joined.
        batch_size: At most this many texts in a forward pass; by default as many as suit the device.
        show_progress_bar: Show a progress bar.

    Returns:
        Embeddings of length 1, float32 (len(contexts), dim).

    Raises:
        ValueError: An unknown ``context``.
    """
    check_context(context)

    def encode(turns: Sequence[Sequence[str]]) -> np.ndarray:
        separator = getattr(encoder.tokenizer, "sep_token", None)
        texts = [joined_context(some, separator) for some in turns]
        return unit_vectors(encode_utterances(encoder, texts, batch_size, show_progress_bar))

    with newest_words_kept(encoder.tokenizer):
        if context == "joined":
            return encode(contexts)
        vectors = encode([turns[-1:] for turns in contexts])
        longer = [number for number, turns in enumerate(contexts) if len(turns) > 1]
        vectors[longer] += encode([contexts[number][:-1] for number in longer])
    return unit_vectors(vectors)


def check_context(context: str) -> None:
    """Raise ``ValueError`` if ``context`` is not a `Context`."""
    if context not in get_args(Context):
        raise ValueError(f"context must be 'joined' or 'averaged', got {context!r}")
