"""What a store asks its encoder for: vectors of messages and conversations, and queries for the next message."""

from __future__ import annotations

import copy
import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
from sentence_transformers import SentenceTransformer

from turnwise._utils.vectors import unit_vectors
from turnwise.data.messages import Message
from turnwise.encoders.centre import centre_digest
from turnwise.encoders.conversation_encoder import ConversationEncoder
from turnwise.encoders.loading import encoder_source, weights_digest
from turnwise.encoders.long_texts import starts_of
from turnwise.encoders.message_pooling import message_tokens, pool_messages
from turnwise.encoders.messages import encode_messages
from turnwise.encoders.vector_cache import VectorCache, can_be_cached
from turnwise.replies.reply_model import ReplyModel, next_speaker


class StoreEncoder:
    """An encoder as a store uses it; several threads may share it.

    Args:
        encoder: The encoder.
        pooling: How whole conversations are pooled, see `turnwise.ConversationEncoder`.
    """

    def __init__(self, encoder: SentenceTransformer, pooling: str) -> None:
        self.encoder = ConversationEncoder.of(encoder)
        self.pooling = pooling
        self._cache: VectorCache | None = None
        self._lock = threading.RLock()  # using a tokenizer changes it, so only one thread may

    def with_cache(self) -> Self:
        """The same encoder, which also keeps vectors of messages on disk for next time, if that saves time."""
        other = copy.copy(self)
        other._cache = VectorCache(self.encoder) if can_be_cached(self.encoder) else None
        return other

    @property
    def dim(self) -> int:
        """The length of its vectors."""
        return self.encoder.get_embedding_dimension() or 0

    @property
    def has_replies(self) -> bool:
        """Whether messages get a second vector, as candidates for the next message."""
        return ReplyModel(self.encoder).own_candidates

    @property
    def name(self) -> str:
        """Where it was loaded from: a Hub name, or the absolute path of a folder, which holds from anywhere."""
        source = encoder_source(self.encoder)
        return str(Path(source).resolve()) if Path(source).is_dir() else source

    def digest(self) -> str:
        """A hash of its weights, its reply head, its centre and its prompts."""
        hasher = hashlib.blake2b(weights_digest(self.encoder).encode(), digest_size=10)
        hasher.update(repr(sorted(self.encoder.prompts.items())).encode())
        head = self.encoder.reply_head
        for name, weight in sorted(head.state_dict().items()) if head is not None else ():
            hasher.update(name.encode() + weight.detach().cpu().numpy().tobytes())
        hasher.update(centre_digest(self.encoder.centre).encode())
        return hasher.hexdigest()

    def messages(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """The columns of messages: vectors of length 1, those as candidates (n, dim), and numbers of tokens (n,)."""
        with self._lock:
            texts = starts_of(self.encoder, texts)
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
            return pool_messages(vectors, tokens, starts, self.encoder.centre.get("messages"))
        with self._lock:
            read = [self._starts(messages) for messages in conversations]
            return unit_vectors(self.encoder.encode_conversations(read, pooling=self.pooling))

    def text_query(self, text: str) -> np.ndarray:
        """The query (dim,) that finds messages similar to a text."""
        with self._lock:
            return unit_vectors(encode_messages(self.encoder, starts_of(self.encoder, [text])))[0]

    def conversation_query(self, messages: Sequence[Message]) -> np.ndarray:
        """The query (dim,) that finds conversations similar to this one."""
        with self._lock:
            return unit_vectors(self.encoder.encode_conversations([self._starts(messages)], pooling=self.pooling))[0]

    def _starts(self, messages: Sequence[Message]) -> list[Message]:
        """The messages, each cut to what the encoder reads."""
        starts = starts_of(self.encoder, [message["content"] for message in messages])
        return [{**message, "content": start} for message, start in zip(messages, starts)]

    def reply_query(
        self, messages: Sequence[Message], mode: str | None = None, speaker: str | None = None
    ) -> np.ndarray:
        """The query for what may be said next (dim,), which need not have length 1; see `turnwise.ReplyModel`."""
        with self._lock:
            running = ReplyModel(self.encoder).start(speaker or next_speaker(messages))
            for message in messages:
                running.add(message["content"], message["role"])
            return running.query_of(mode)
