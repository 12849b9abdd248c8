"""Embedding messages, each distinct text once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from turnlens._utils.arguments import require_list
from turnlens._utils.progress import progress_bar
from turnlens._utils.vectors import embed_distinct
from turnlens.encoders.quick import QuickEncoder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from turnlens.encoders.inference import Half
    from turnlens.encoders.vector_cache import VectorCache


def encode_messages(
    encoder: SentenceTransformer | QuickEncoder,
    texts: Sequence[str],
    batch_size: int | None = None,
    show_progress_bar: bool = False,
    prompt_name: str | None = None,
    dtype: Half | None = None,
    cache: VectorCache | None = None,
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

    Returns:
        Embeddings, float32 (len(texts), dim).

    Raises:
        ValueError: The encoder has no such prompt, or an unknown ``dtype``.
        TypeError: A single text, or an item that is no text.
    """
    texts = require_list(texts, "texts")
    if not texts:
        return np.zeros((0, encoder.get_embedding_dimension() or 0), dtype=np.float32)
    if isinstance(encoder, QuickEncoder):
        return embed_distinct(encoder.encode, texts)
    from turnlens.encoders.inference import encode_texts

    prompt = _prompt(encoder, prompt_name)
    with progress_bar(show_progress_bar) as bar:
        task = bar.add_task("embedding messages", total=len(texts))

        def embed(distinct: list[str]) -> np.ndarray:
            bar.update(task, total=len(distinct))
            return encode_texts(encoder, distinct, prompt, batch_size, dtype, lambda count: bar.advance(task, count))

        if cache is None:
            return embed_distinct(embed, texts)
        return embed_distinct(lambda distinct: cache.embed(embed, distinct, kind=repr((prompt, dtype))), texts)


def usual_kind(encoder: SentenceTransformer | QuickEncoder) -> str:
    """What tells an encoder's usual vectors from its others in a `VectorCache`: with its default prompt, in float32."""
    prompt = (encoder.prompt or None) if isinstance(encoder, QuickEncoder) else _prompt(encoder, None)
    return repr((prompt, None))


def _prompt(encoder: SentenceTransformer, name: str | None) -> str | None:
    name = name or encoder.default_prompt_name
    if name is not None and name not in encoder.prompts:
        known = ", ".join(encoder.prompts) or "none"
        raise ValueError(f"this encoder has no prompt {name!r}, only the prompts {known}")
    return None if name is None else encoder.prompts[name]
