"""Messages in the context of their conversation, and contexts joined to one text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

from turnlens._utils.arguments import require_list
from turnlens._utils.progress import progress_of
from turnlens._utils.vectors import FloatArray, unit_vectors
from turnlens.data.messages import Messages
from turnlens.encoders.forward import encode_rows
from turnlens.encoders.inference import Half, inference
from turnlens.encoders.messages import encode_messages
from turnlens.encoders.rendering import Renderer
from turnlens.encoders.transformer import after_pooling, transformer_of


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


_CONVERSATIONS_AT_ONCE = 256


def encode_in_context(
    encoder: SentenceTransformer,
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
    sums, counts = sums_in_context(encoder, conversations, show_progress_bar, dtype)
    with inference(encoder.device):
        means = torch.from_numpy(sums / np.maximum(counts, 1)[:, None]).to(encoder.device)
        vectors = after_pooling(encoder, means).cpu().numpy()
    return unit_vectors(np.where(counts[:, None] > 0, vectors, 0)).astype(np.float32)


def sums_in_context(
    encoder: SentenceTransformer,
    conversations: Sequence[Messages],
    show_progress_bar: bool = False,
    dtype: Half | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Sum (messages, dim) and number (messages,) of the tokens of each message; arguments as for `encode_in_context`.

    A token that belongs to no message, such as the classification token, is counted with the message next to it. A
    token in two windows is counted twice.
    """
    if encoder.transformers_model is None:
        raise ValueError("a static encoder's tokens do not see each other: messages in context need a transformer")
    renderer = Renderer(encoder)
    encoder.eval()
    parts = [(torch.zeros(0, transformer_of(encoder).config.hidden_size), torch.zeros(0))]
    progress = progress_of("embedding conversations", len(conversations), visible=show_progress_bar)
    with progress as advance, inference(encoder.device, dtype):
        for start in range(0, len(conversations), _CONVERSATIONS_AT_ONCE):
            batch = conversations[start : start + _CONVERSATIONS_AT_ONCE]
            parts.append(_sums(encoder, renderer, batch))
            advance(len(batch))
    sums, counts = (torch.cat(of_parts).numpy() for of_parts in zip(*parts))
    return sums, counts


def _sums(encoder: SentenceTransformer, renderer: Renderer, conversations: Sequence[Messages]) -> tuple[Tensor, Tensor]:
    """`sums_in_context` of some conversations."""
    windows = [renderer.windows(turns) for turns in renderer.tokenize(conversations)]
    owner = [number for number, own_windows in enumerate(windows) for _ in own_windows]
    rows = renderer.pack(
        [conversations[number] for number in owner], [window for own_windows in windows for window in own_windows]
    )
    inputs = {name: tensor.to(encoder.device) for name, tensor in rows.as_dict().items()}
    starts = torch.tensor([0, *(len(messages) for messages in conversations)]).cumsum(0)
    message = (_nearest(rows.turn) + starts[owner].unsqueeze(1)).to(encoder.device)  # (rows, length)
    sums = torch.zeros(int(starts[-1]), transformer_of(encoder).config.hidden_size, device=encoder.device)
    counts = torch.zeros(len(sums), device=encoder.device)
    for piece in encode_rows(encoder, inputs):
        into = message[piece.rows, : piece.tokens.shape[1]].flatten()
        sums.index_add_(0, into, piece.tokens.flatten(0, 1))  # zero where padded
        counts.index_add_(0, into, piece.mask.flatten())
    return sums.cpu(), counts.cpu()


def _nearest(turn: Tensor) -> Tensor:
    """The turn of each token; without one (-1), the turn of the token before it, else of the first that has one."""
    first = turn.masked_fill(turn < 0, turn.shape[1] + int(turn.max())).amin(1, keepdim=True)
    filled = turn.cummax(1).values.maximum(first)
    return filled.where(turn.amax(1, keepdim=True) >= 0, 0)  # a conversation that says nothing
