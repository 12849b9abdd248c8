"""Vectors of whole conversations, pooled from the tokens of their messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.functional import one_hot

from turnlens._utils.progress import progress_of
from turnlens._utils.registries import POOLINGS, check_pooling
from turnlens.data.messages import Messages
from turnlens.encoders.centre import Centre
from turnlens.encoders.forward import encode_rows, full_precision
from turnlens.encoders.inference import Half, inference
from turnlens.encoders.messages import encode_from_messages, encode_messages
from turnlens.encoders.rendering import Keep, Renderer
from turnlens.encoders.transformer import after_pooling


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

    sums: Tensor
    counts: Tensor
    conversations: Sequence[Messages]
    first: int
    zero_if_absent: bool

    def means(self) -> Tensor:
        """The mean of each speaker's tokens, zero for one who says nothing (conversations, speakers, dim)."""
        return self.sums[:, 1:] / self.counts[:, 1:].clamp(min=1).unsqueeze(-1)


# Of the tokens of some conversations, as `SpokenTokens`, their vectors (conversations, dim).
TokenPooling: TypeAlias = Callable[..., Tensor]


def token_pooling(name: str) -> TokenPooling:
    """The function of a way to pool tokens, by its name, which has been checked."""
    kind, colon, role = name.partition(":")
    pool: TokenPooling = POOLINGS[f"{kind}{colon}"]
    return partial(pool, role=role) if colon else pool


def mean(tokens: SpokenTokens) -> Tensor:
    """The mean of all tokens."""
    return tokens.sums.sum(1) / tokens.counts.sum(1, keepdim=True)


def mean_of_role(tokens: SpokenTokens, role: str) -> Tensor:
    """The mean of the tokens of one role.

    Raises:
        ValueError: It is missing from a conversation, or says nothing there.
    """
    means = tokens.means()
    pooled = torch.zeros_like(means[:, 0])
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


_CONVERSATIONS_AT_ONCE = 256


def encode_conversations(
    encoder: SentenceTransformer,
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
    if pooling == "messages":
        return encode_from_messages(encoder, conversations, centre, show_progress_bar, dtype)
    if encoder.transformers_model is None:
        return _centred(_without_transformer(encoder, conversations, pooling), centre)
    pool, renderer = token_pooling(pooling), Renderer(encoder, keep=keep)
    encoder.eval()
    embeddings = []
    progress = progress_of("embedding conversations", len(conversations), visible=show_progress_bar)
    with progress as advance, inference(encoder.device, dtype):
        for start in range(0, len(conversations), _CONVERSATIONS_AT_ONCE):
            batch = conversations[start : start + _CONVERSATIONS_AT_ONCE]
            sums, counts = _sums_by_speaker(encoder, renderer, batch, long)
            embeddings.append(pool(SpokenTokens(sums, counts, batch, start, absent == "zero")))
            advance(len(batch))
    renderer.warn_of_cuts()
    if not embeddings:
        return np.zeros((0, encoder.get_embedding_dimension() or 0), dtype=np.float32)
    with inference(encoder.device):
        pooled = after_pooling(encoder, torch.cat(embeddings))
    return _centred(pooled.cpu().numpy(), centre)


def _centred(vectors: np.ndarray, centre: Centre | None) -> np.ndarray:
    return vectors if centre is None else centre.apply(vectors)


def _without_transformer(encoder: SentenceTransformer, conversations: Sequence[Messages], pooling: str) -> np.ndarray:
    """The joined turns embedded by a static encoder, which has no limit and whose tokens do not see each other."""
    if pooling != "mean":
        raise ValueError(f"pooling {pooling!r} needs a transformer: use 'mean' or 'messages' with a static encoder")
    texts = ["\n".join(message["content"] for message in messages) for messages in conversations]
    return encode_messages(encoder, texts)


def _sums_by_speaker(
    encoder: SentenceTransformer, renderer: Renderer, conversations: Sequence[Messages], long: str
) -> tuple[Tensor, Tensor]:
    """Sum and number of the tokens of each speaker; speaker 0 is none: (conversations, 1 + speakers[, dim])."""
    tokens = renderer.tokenize(conversations)
    if long == "window":
        windows = [renderer.windows(turns) for turns in tokens]
    else:
        windows = [[pieces] for pieces in renderer.fitting(tokens)]
    owner = [number for number, own_windows in enumerate(windows) for _ in own_windows]
    rows = renderer.pack(
        [conversations[number] for number in owner], [window for own_windows in windows for window in own_windows]
    )
    inputs = {name: tensor.to(encoder.device) for name, tensor in rows.as_dict().items()}
    owners, speaker = torch.tensor(owner, device=encoder.device), inputs["speaker"]
    groups = 1 + max(len({message["role"] for message in messages}) for messages in conversations)
    sums = counts = torch.zeros(0)
    for piece in encode_rows(encoder, inputs):
        with full_precision(encoder.device):
            member = one_hot(speaker[piece.rows, : piece.tokens.shape[1]] + 1, groups) * piece.mask.unsqueeze(-1)
            if not len(sums):
                sums = piece.tokens.new_zeros(len(conversations), groups, piece.tokens.shape[2])
                counts = piece.tokens.new_zeros(len(conversations), groups)
            sums.index_add_(0, owners[piece.rows], torch.einsum("bng,bnd->bgd", member, piece.tokens))
            counts.index_add_(0, owners[piece.rows], member.sum(1))
    return sums, counts
