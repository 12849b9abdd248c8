"""Vectors of whole conversations, pooled from the tokens of their messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from turnlens._utils.registries import POOLINGS, check_pooling
from turnlens._utils.vectors import FloatArray
from turnlens.data.messages import Messages, texts_of
from turnlens.encoders.centre import Centre
from turnlens.encoders.encoder import Encoder, Half
from turnlens.encoders.messages import encode_messages, message_tokens, pool_messages
from turnlens.encoders.rendering import Keep, Renderer, in_batches


@dataclass(frozen=True)
class SpokenTokens:
    """The tokens of some conversations, added up by speaker.

    Attributes:
        sums: The sum of the tokens of each speaker, in order of appearance; speaker 0 is none (conversations,
            1 + speakers, dim).
        counts: How many tokens each has (conversations, 1 + speakers).
        conversations: The conversations.
        first: The number of the first one, for errors.
        zero_if_absent: Whether a role that says nothing gives a vector of zeros, not an error.
    """

    sums: FloatArray
    counts: FloatArray
    conversations: Sequence[Messages]
    first: int
    zero_if_absent: bool

    def means(self) -> FloatArray:
        """The mean of each speaker's tokens, zero for one who says nothing (conversations, speakers, dim)."""
        return self.sums[:, 1:] / np.maximum(self.counts[:, 1:], 1)[..., None]


# Of the tokens of some conversations, as `SpokenTokens`, their vectors (conversations, dim).
TokenPooling: TypeAlias = Callable[..., FloatArray]


def token_pooling(name: str) -> TokenPooling:
    """The function of a way to pool tokens, by its name, which has been checked."""
    kind, colon, role = name.partition(":")
    pool: TokenPooling = POOLINGS[f"{kind}{colon}"]
    return partial(pool, role=role) if colon else pool


def mean(tokens: SpokenTokens) -> FloatArray:
    """The mean of all tokens."""
    return np.asarray(tokens.sums.sum(1) / tokens.counts.sum(1, keepdims=True))


def mean_of_role(tokens: SpokenTokens, role: str) -> FloatArray:
    """The mean of the tokens of one role.

    Raises:
        ValueError: It is missing from a conversation, or says nothing there.
    """
    means = tokens.means()
    pooled = np.zeros_like(means[:, 0])
    for position, messages in enumerate(tokens.conversations):
        roles = list(dict.fromkeys(message["role"] for message in messages))
        number = roles.index(role) if role in roles else None
        if number is not None and tokens.counts[position, 1 + number]:
            pooled[position] = means[position, number]
        elif not tokens.zero_if_absent:
            raise ValueError(_absence(tokens.first + position, role, roles))
    return pooled


def _absence(conversation: int, role: str, roles: list[str]) -> str:
    if role not in roles:
        return f"conversation {conversation} has no speaker {role!r}, only {', '.join(roles)}"
    return (
        f"conversation {conversation}: {role!r} says nothing within the encoder's limit: leave such conversations "
        "out, or use long='window'"
    )


def encode_conversations(
    encoder: Encoder,
    conversations: Sequence[Messages],
    centre: Centre | None,
    pooling: str = "mean",
    long: Literal["truncate", "window"] = "truncate",
    keep: Keep = "head",
    show_progress_bar: bool = False,
    absent: Literal["raise", "zero"] = "raise",
    dtype: Half | None = None,
) -> np.ndarray:
    """`turnlens.ConversationEncoder.encode_conversations`, with the centre to apply to this pooling, if any."""
    check_pooling(pooling)
    if long not in ("truncate", "window"):
        raise ValueError(f"long must be 'truncate' or 'window', got {long!r}")
    if absent not in ("raise", "zero"):
        raise ValueError(f"absent must be 'raise' or 'zero', got {absent!r}")
    texts, nothing = texts_of(conversations), np.zeros((0, encoder.get_embedding_dimension() or 0), dtype=np.float32)
    if pooling == "messages":
        vectors = encode_messages(encoder, texts, show_progress_bar=show_progress_bar, dtype=dtype)
        starts = np.cumsum([0, *map(len, conversations)])[:-1]
        pooled = pool_messages(vectors, message_tokens(encoder, texts), starts, centre) if texts else nothing
        return pooled.astype(np.float32)
    if encoder.width is None:
        return _centred(_without_transformer(encoder, conversations, pooling), centre)
    pool, renderer = token_pooling(pooling), Renderer(encoder, keep=keep)
    passes = encoder.for_inference(sum(map(len, texts)), dtype)
    embeddings = []
    for start, batch in in_batches(conversations, show_progress_bar):
        sums, counts = _sums_by_speaker(passes, renderer, batch, long, dtype)
        embeddings.append(pool(SpokenTokens(sums, counts, batch, start, absent == "zero")))
    renderer.warn_of_cuts()
    if not embeddings:
        return nothing
    return _centred(encoder.after_pooling(np.concatenate(embeddings)), centre)


def _centred(vectors: np.ndarray, centre: Centre | None) -> np.ndarray:
    return vectors if centre is None else centre.apply(vectors)


def _without_transformer(encoder: Encoder, conversations: Sequence[Messages], pooling: str) -> np.ndarray:
    """The joined turns embedded by a static encoder, which has no limit and whose tokens do not see each other."""
    if pooling != "mean":
        raise ValueError(f"pooling {pooling!r} needs a transformer: use 'mean' or 'messages' with a static encoder")
    texts = ["\n".join(message["content"] for message in messages) for messages in conversations]
    return encode_messages(encoder, texts)


def _sums_by_speaker(
    encoder: Encoder, renderer: Renderer, conversations: Sequence[Messages], long: str, dtype: Half | None
) -> tuple[FloatArray, FloatArray]:
    """Sum and number of the tokens of each speaker; speaker 0 is none: (conversations, 1 + speakers[, dim])."""
    of_row, rows = renderer.windowed(conversations, whole=long == "window")
    groups = 1 + max(len({message["role"] for message in messages}) for messages in conversations)
    owners = [[number * groups + 1 + speaker for speaker in speakers] for number, speakers in zip(of_row, rows.speaker)]
    sums, counts = encoder.token_sums(rows, owners, len(conversations) * groups, dtype)
    return sums.reshape(-1, groups, sums.shape[1]), counts.reshape(-1, groups)
