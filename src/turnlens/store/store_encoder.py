"""The encoder of a store: vectors of messages and conversations, and queries for the next message."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from turnlens._utils.vectors import unit_vectors
from turnlens.data.messages import Message
from turnlens.encoders.centre import centre_digest
from turnlens.encoders.encoder import Encoder
from turnlens.encoders.messages import encode_messages, message_tokens, pool_messages
from turnlens.encoders.reply_model import ReplyModel, next_speaker
from turnlens.encoders.reply_scores import head_of

if TYPE_CHECKING:
    from turnlens.encoders.centre import Centre
    from turnlens.encoders.vector_cache import VectorCache

_RECENT = 256  # queries whose vectors are kept
_UNLIKE = ("Where is my parcel?", "It will rain tomorrow.", "I'd like a table for two.", "Please play that song again.")
_LOW = 0.4


class StoreEncoder:
    """An encoder as a store uses it; several threads may share it.

    Args:
        encoder: The encoder.
        pooling: How whole conversations are pooled, see `turnlens.ConversationEncoder`.
    """

    def __init__(self, encoder: Encoder, pooling: str) -> None:
        self.encoder = encoder
        self.pooling = pooling
        self.text_query = lru_cache(_RECENT)(self._text_query)
        self._keeps = False  # vectors on disk

    def with_cache(self) -> Self:
        """The same encoder, which also keeps vectors of messages on disk for next time, if that saves time."""
        other = copy.copy(self)
        other._keeps = True
        other.__dict__.pop("_cache", None)  # it may have been found that this one keeps none
        return other

    @cached_property
    def _cache(self) -> VectorCache | None:
        from turnlens.encoders.vector_cache import VectorCache, can_be_cached

        return VectorCache(self.encoder) if self._keeps and can_be_cached(self.encoder) else None

    @property
    def dim(self) -> int:
        """The length of its vectors."""
        return self.encoder.get_embedding_dimension() or 0

    @property
    def centre(self) -> Centre | None:
        """Applied to conversations that are pooled from messages."""
        return self.encoder.centre.get("messages")

    @property
    def has_replies(self) -> bool:
        """True if messages get a second vector, as candidates for the next message."""
        return ReplyModel(self.encoder).own_candidates

    @cached_property
    def tells_apart(self) -> bool:
        """True if messages about unlike things have low cosines: 0.2 in the encoder that ships, 0.7 in some others."""
        vectors = unit_vectors(encode_messages(self.encoder, _UNLIKE))
        return float((vectors @ vectors.T)[np.triu_indices(len(_UNLIKE), 1)].mean()) < _LOW

    @property
    def name(self) -> str:
        """The place it was loaded from: a Hub name, or the absolute path of a folder, which holds from anywhere."""
        source = self.encoder.source
        return str(Path(source).resolve()) if Path(source).is_dir() else source

    def digest(self) -> str:
        """A hash of its weights, its reply head, its centre and its prompts."""
        hasher = hashlib.blake2b(self.encoder.weights_digest.encode(), digest_size=10)
        hasher.update(repr(sorted((name, text) for name, text in self.encoder.prompts.items() if text)).encode())
        head = head_of(self.encoder)
        for name, weight in sorted(head._asdict().items()) if head is not None else ():
            hasher.update(name.encode() + weight.tobytes())
        hasher.update(centre_digest(self.encoder.centre).encode())
        return hasher.hexdigest()

    def messages(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """The columns of messages: vectors of length 1, those as candidates (n, dim), and numbers of tokens (n,)."""
        vectors = encode_messages(self.encoder, texts, cache=self._cache)
        columns = {"vector": unit_vectors(vectors), "tokens": message_tokens(self.encoder, texts)}
        replies = ReplyModel(self.encoder)
        if replies.own_candidates:
            columns["reply"] = replies.encode_candidates(texts, vectors)
        return columns

    def conversations(
        self, conversations: Sequence[Sequence[Message]], vectors: np.ndarray, tokens: np.ndarray
    ) -> np.ndarray:
        """Conversation vectors of length 1 (n, dim).

        Args:
            conversations: Their messages.
            vectors: The vectors of all these messages (messages, dim).
            tokens: How many tokens each has (messages,).
        """
        if self.pooling == "messages":
            starts = np.cumsum([0, *(len(messages) for messages in conversations)])[:-1]
            return pool_messages(vectors, tokens, starts, self.centre)
        return unit_vectors(self.encoder.encode_conversations(conversations, pooling=self.pooling))

    def _text_query(self, text: str) -> np.ndarray:
        """The query (dim,) that finds messages similar to a text."""
        return unit_vectors(encode_messages(self.encoder, [text]))[0]

    def conversation_query(self, messages: Sequence[Message]) -> np.ndarray:
        """The query (dim,) that finds conversations similar to this one."""
        return unit_vectors(self.encoder.encode_conversations([messages], pooling=self.pooling))[0]

    def reply_query(
        self, messages: Sequence[Message], mode: str | None = None, speaker: str | None = None
    ) -> np.ndarray:
        """The query for what may be said next (dim,), which need not have length 1; see `turnlens.ReplyModel`."""
        running = ReplyModel(self.encoder).start(speaker or next_speaker(messages))
        for message in messages:
            running.add(message["content"], message["role"])
        return running.query_of(mode)
