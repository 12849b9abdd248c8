"""Vectors of messages, each distinct text embedded once, and vectors of conversations pooled from them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from turnlens._utils.arguments import require_list
from turnlens._utils.progress import progress_bar
from turnlens._utils.vectors import FloatArray, IntArray, embed_distinct, unit_vectors
from turnlens.encoders.centre import Centre
from turnlens.encoders.encoder import Encoder, Half, as_conversational

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from turnlens.encoders.vector_cache import VectorCache


def encode_messages(
    encoder: Encoder | SentenceTransformer,
    texts: Sequence[str],
    batch_size: int | None = None,
    show_progress_bar: bool = False,
    prompt_name: str | None = None,
    dtype: Half | None = None,
    cache: VectorCache | None = None,
    newest: bool = False,
) -> np.ndarray:
    """Embed messages, each distinct text once: the same vectors as from the encoder's own ``encode``, but faster.

    Args:
        encoder: The encoder.
        texts: The messages.
        batch_size: At most this many texts in a forward pass; by default as many as suit the device.
        show_progress_bar: Show a progress bar on a terminal.
        prompt_name: The encoder's prompt to put before each text; by default its default prompt, if it has one.
        dtype: ``"bfloat16"`` or ``"float16"`` to compute in half precision, which is several times faster on hardware
            made for it and changes cosines by some thousandths. By default the precision in which the encoder was
            loaded.
        cache: Keeps the vectors of this encoder for later calls.
        newest: Leave out the first words of a text beyond the encoder's limit, not the last.

    Returns:
        Embeddings, float32 (len(texts), dim).

    Raises:
        ValueError: The encoder has no such prompt, or an unknown ``dtype``.
        TypeError: A single text, or an item that is no text.
    """
    texts = require_list(texts, "texts")
    if not texts:
        return np.zeros((0, encoder.get_embedding_dimension() or 0), dtype=np.float32)
    encoder = as_conversational(encoder)
    prompt = _prompt(encoder, prompt_name)
    with progress_bar(show_progress_bar) as bar:
        task = bar.add_task("embedding messages", total=len(texts))

        def embed(distinct: list[str]) -> np.ndarray:
            bar.update(task, total=len(distinct))
            shown = partial(bar.advance, task)
            return encoder.encode_texts(distinct, prompt, batch_size, dtype, newest, shown)

        if cache is None:
            return embed_distinct(embed, texts)
        return embed_distinct(lambda distinct: cache.embed(embed, distinct, kind=repr((prompt, dtype))), texts)


def _prompt(encoder: Encoder, name: str | None) -> str | None:
    name = name or encoder.default_prompt_name
    if name is not None and name not in encoder.prompts:
        known = ", ".join(encoder.prompts) or "none"
        raise ValueError(f"this encoder has no prompt {name!r}, only the prompts {known}")
    return None if name is None else encoder.prompts[name]


def pool_messages(vectors: FloatArray, tokens: IntArray, starts: IntArray, centre: Centre | None = None) -> FloatArray:
    """The mean of each conversation's message vectors, weighted by their tokens.

    A long message says more about the topic of a conversation than "Yes, please." So each message counts by its length,
    as in the mean over the tokens of the joined text.

    Args:
        vectors: The vector of each message, with the messages of one conversation in a row (messages, dim).
        tokens: How many tokens each message has; a message without tokens counts as if it had one (messages,).
        starts: Where each conversation starts (conversations,).
        centre: Applied to the means; its ``weight`` changes how much each message counts.

    Returns:
        (conversations, dim), of length 1.
    """
    units, weights = unit_vectors(vectors), np.maximum(tokens, 1).astype(np.float32)
    if centre is not None:
        weights = weights * np.exp(units @ centre.weight)
    pooled = unit_vectors(np.add.reduceat(units * weights[:, None], starts, axis=0))
    return pooled if centre is None else centre.apply(pooled)


def message_tokens(encoder: Encoder | SentenceTransformer, texts: Sequence[str]) -> IntArray:
    """Count the tokens of each text that the encoder reads (texts,)."""
    return embed_distinct(as_conversational(encoder).text_tokenizer.counts, texts)
