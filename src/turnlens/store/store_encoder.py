"""The encoder of a store: vectors of messages and conversations, and queries for the next message."""

from __future__ import annotations

import copy
import hashlib
import threading
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from turnlens._utils.vectors import embed_distinct, unit_vectors
from turnlens.data.messages import Message
from turnlens.encoders.centre import centre_digest
from turnlens.encoders.long_texts import starts_of
from turnlens.encoders.messages import encode_from_messages, encode_messages, message_tokens, pool_messages, usual_kind
from turnlens.encoders.quick import FEW, WORTH_LOADING, QuickEncoder
from turnlens.encoders.reply_model import ReplyModel, next_speaker

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from turnlens.encoders.centre import Centre
    from turnlens.encoders.conversation_encoder import ConversationEncoder
    from turnlens.encoders.vector_cache import VectorCache

_RECENT = 256  # queries whose vectors are kept


class StoreEncoder:
    """An encoder as a store uses it; several threads may share it.

    Args:
        encoder: The encoder, or what loads it when it is needed.
        pooling: How whole conversations are pooled, see `turnlens.ConversationEncoder`.
        quick: The same encoder for queries.
    """

    def __init__(
        self,
        encoder: SentenceTransformer | Callable[[], SentenceTransformer],
        pooling: str,
        quick: QuickEncoder | None = None,
    ) -> None:
        self._source = encoder
        self.pooling = pooling
        self.quick = quick
        self._quick_query = lru_cache(_RECENT)(self._embedded_quickly)
        self._encoder: ConversationEncoder | None = None
        self._keeps = False  # vectors on disk
        self._tokens = 0  # of messages that were embedded without torch
        self._lock = threading.RLock()  # using a tokenizer changes it, so only one thread may

    def with_cache(self) -> Self:
        """The same encoder, which also keeps vectors of messages on disk for next time, if that saves time."""
        other = copy.copy(self)
        other._keeps = True
        other.__dict__.pop("_cache", None)  # it may have been found that this one keeps none
        return other

    @property
    def encoder(self) -> ConversationEncoder:
        """The encoder itself."""
        # Not a cached_property: before Python 3.12 the first use of one waits for those of all other objects.
        if self._encoder is None:
            from sentence_transformers import SentenceTransformer

            from turnlens.encoders.conversation_encoder import ConversationEncoder

            with self._lock:
                if self._encoder is None:
                    loaded = self._source if isinstance(self._source, SentenceTransformer) else self._source()
                    self._encoder = ConversationEncoder.of(loaded)
        return self._encoder

    @cached_property
    def _cache(self) -> VectorCache | None:
        from turnlens.encoders.vector_cache import VectorCache, can_be_cached

        encoder = self.for_texts(0)
        return VectorCache(encoder) if self._keeps and can_be_cached(encoder) else None

    def for_texts(self, texts: int) -> ConversationEncoder | QuickEncoder:
        """The encoder that embeds this many texts soonest."""
        return self.encoder if self.quick is None or texts > FEW else self.quick

    @property
    def dim(self) -> int:
        """The length of its vectors."""
        return self.for_texts(0).get_embedding_dimension() or 0

    @property
    def centre(self) -> Centre | None:
        """Applied to conversations that are pooled from messages."""
        return self.for_texts(0).centre.get("messages")

    @property
    def has_replies(self) -> bool:
        """True if messages get a second vector, as candidates for the next message."""
        return ReplyModel(self.for_texts(0)).own_candidates

    @property
    def name(self) -> str:
        """The place it was loaded from: a Hub name, or the absolute path of a folder, which holds from anywhere."""
        if self.quick is not None:
            return self.quick.source
        from turnlens.encoders.loading import encoder_source

        source = encoder_source(self.encoder)
        return str(Path(source).resolve()) if Path(source).is_dir() else source

    def digest(self) -> str:
        """A hash of its weights, its reply head, its centre and its prompts."""
        if self.quick is not None:
            return self.quick.digest
        from turnlens.encoders.loading import weights_digest

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
            encoder = self.for_texts(0)
            texts = starts_of(encoder, texts)
            vectors = embed_distinct(self._embedded, texts)
            columns = {"vector": unit_vectors(vectors), "tokens": message_tokens(encoder, texts)}
            replies = ReplyModel(encoder)
            if replies.own_candidates:
                columns["reply"] = replies.encode_candidates(texts, vectors)
        return columns

    def _embedded(self, texts: list[str]) -> np.ndarray:
        """The vectors of distinct texts, read from disk where they are kept."""
        if not texts or self._cache is None:
            return self._embedded_soonest(texts)
        return self._cache.embed(self._embedded_soonest, texts, usual_kind(self.for_texts(0)))

    def _embedded_soonest(self, texts: list[str]) -> np.ndarray:
        """The vectors of texts; torch is loaded as soon as its quicker passes would have saved the time it takes."""
        if self.quick is not None and self._encoder is None:
            self._tokens += int(message_tokens(self.quick, texts).sum())
            if self._tokens <= WORTH_LOADING:
                return encode_messages(self.quick, texts)
        return encode_messages(self.encoder, texts)

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
        with self._lock:
            read = [self._starts(messages) for messages in conversations]
            return unit_vectors(self.encoder.encode_conversations(read, pooling=self.pooling))

    def text_query(self, text: str) -> np.ndarray:
        """The query (dim,) that finds messages similar to a text."""
        if self.quick is not None:
            return self._quick_query(text)
        with self._lock:
            return unit_vectors(encode_messages(self.encoder, starts_of(self.encoder, [text])))[0]

    def _embedded_quickly(self, text: str) -> np.ndarray:
        encoder = self.for_texts(1)
        return unit_vectors(encode_messages(encoder, starts_of(encoder, [text])))[0]

    def conversation_query(self, messages: Sequence[Message]) -> np.ndarray:
        """The query (dim,) that finds conversations similar to this one."""
        with self._lock:
            encoder, read = self.for_texts(len(messages)), self._starts(messages)
            if encoder is self.quick and self.pooling == "messages":
                return encode_from_messages(encoder, [read], encoder.centre.get(self.pooling))[0]
            return unit_vectors(self.encoder.encode_conversations([read], pooling=self.pooling))[0]

    def _starts(self, messages: Sequence[Message]) -> list[Message]:
        """The messages, each cut to what the encoder reads."""
        starts = starts_of(self.for_texts(len(messages)), [message["content"] for message in messages])
        return [{**message, "content": start} for message, start in zip(messages, starts)]

    def reply_query(
        self, messages: Sequence[Message], mode: str | None = None, speaker: str | None = None
    ) -> np.ndarray:
        """The query for what may be said next (dim,), which need not have length 1; see `turnlens.ReplyModel`."""
        with self._lock:
            # "joined" joins turns to a single text
            encoder = self.encoder if mode == "joined" else self.for_texts(len(messages))
            running = ReplyModel(encoder).start(speaker or next_speaker(messages))
            for message in messages:
                running.add(message["content"], message["role"])
            return running.query_of(mode)
