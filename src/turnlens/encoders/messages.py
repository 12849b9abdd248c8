"""Vectors of messages, alone or in context, of contexts as one text, and of conversations pooled from messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from turnlens._utils.arguments import require_list
from turnlens._utils.progress import progress_bar
from turnlens._utils.vectors import FloatArray, IntArray, embed_distinct, unit_vectors
from turnlens.data.messages import Messages, texts_of
from turnlens.encoders.centre import Centre
from turnlens.encoders.encoder import Encoder, Half, as_conversational
from turnlens.encoders.rendering import Renderer, in_batches

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
    encoder: Encoder | SentenceTransformer, contexts: Sequence[Sequence[str]], show_progress_bar: bool = False
) -> np.ndarray:
    """Embed contexts of one or more turns, each as one text.

    Args:
        encoder: The encoder.
        contexts: The turns of each context, oldest first.
        show_progress_bar: Show a progress bar.

    Returns:
        Embeddings of length 1, float32 (len(contexts), dim).
    """
    encoder = as_conversational(encoder)
    texts = [joined_context(turns, encoder.text_tokenizer.sep_token) for turns in contexts]
    return unit_vectors(encode_messages(encoder, texts, show_progress_bar=show_progress_bar, newest=True))


def encode_in_context(
    encoder: Encoder | SentenceTransformer,
    conversations: Sequence[Messages],
    show_progress_bar: bool = False,
    dtype: Half | None = None,
) -> np.ndarray:
    """Embed each message of conversations together with all messages before and after it.

    The vector of "Yes, please." is close to that of the question, whereas `encode_messages` sees only its words. The
    mean of a conversation's messages, taken before they are scaled to length 1 and weighted by their tokens, is the
    mean of the tokens of its joined text.

    Args:
        encoder: The encoder, made of a transformer.
        conversations: Lists of messages, ``{"role", "content"}``; no list is empty. Conversations longer than the
            encoder's limit are read in overlapping windows of whole turns.
        show_progress_bar: Show a progress bar.
        dtype: Half precision to compute in, see `encode_messages`.

    Returns:
        The messages of all conversations in a row, float32, of length 1; zero for a message without tokens (messages,
        dim).

    Raises:
        ValueError: An encoder whose tokens do not see each other.
    """
    encoder = as_conversational(encoder)
    sums, counts = sums_in_context(encoder, conversations, show_progress_bar, dtype)
    vectors = encoder.after_pooling(sums / np.maximum(counts, 1)[:, None])
    return unit_vectors(np.where(counts[:, None] > 0, vectors, 0)).astype(np.float32)


def sums_in_context(
    encoder: Encoder | SentenceTransformer,
    conversations: Sequence[Messages],
    show_progress_bar: bool = False,
    dtype: Half | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Sum (messages, dim) and number (messages,) of the tokens of each message; arguments as for `encode_in_context`.

    A token that belongs to no message, such as the classification token, is counted with the message next to it. A
    token in two windows is counted twice.
    """
    encoder = as_conversational(encoder)
    if encoder.width is None:
        raise ValueError("a static encoder's tokens do not see each other: messages in context need a transformer")
    renderer = Renderer(encoder)
    parts = [(np.zeros((0, encoder.width), np.float32), np.zeros(0, np.float32))]
    encoder = encoder.for_inference(sum(map(len, texts_of(conversations))), dtype)
    for _, batch in in_batches(conversations, show_progress_bar):
        parts.append(_sums(encoder, renderer, batch, dtype))
    sums, counts = (np.concatenate(of_parts) for of_parts in zip(*parts))
    return sums, counts


def _sums(
    encoder: Encoder, renderer: Renderer, conversations: Sequence[Messages], dtype: Half | None
) -> tuple[FloatArray, FloatArray]:
    """`sums_in_context` of some conversations."""
    of_row, rows = renderer.windowed(conversations, whole=True)
    starts = np.cumsum([0, *(len(messages) for messages in conversations)])
    owners = [[starts[number] + turn for turn in _nearest(turns)] for number, turns in zip(of_row, rows.turn)]
    return encoder.token_sums(rows, owners, int(starts[-1]), dtype)


def _nearest(turns: Sequence[int]) -> list[int]:
    """The turn of each token; without one (-1), the turn of the token before it, else of the first that has one."""
    last = next((turn for turn in turns if turn >= 0), 0)  # 0 of a conversation that says nothing
    nearest = []
    for turn in turns:
        last = turn if turn >= 0 else last
        nearest.append(last)
    return nearest
