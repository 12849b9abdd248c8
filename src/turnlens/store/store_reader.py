"""The reading half of a conversation store, which searches what is committed while others write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from turnlens._utils.vectors import unit_vectors
from turnlens.data.automatic_replies import LEAST_SHARE, AutomaticReplies
from turnlens.data.messages import Message, plain_messages
from turnlens.formats.message_layouts import instructions_apart
from turnlens.store.filters import CONVERSATION_COLUMNS, MESSAGE_COLUMNS, read_filter
from turnlens.store.hits import ConversationHit, MessageHit, ReplyHit, StoreStats
from turnlens.store.indexes import has_text_index
from turnlens.store.lance_table import Tables
from turnlens.store.open_arguments import other_encoder, store_encoder
from turnlens.store.records import all_ids, conversations_of
from turnlens.store.searches import (
    automatic_replies_of,
    by_next_speaker,
    find_conversations,
    find_messages,
    find_replies,
    require_known_role,
    require_speaker,
)
from turnlens.store.state import StoreState
from turnlens.store.suggestions import SAME, SITUATION, find_suggestion
from turnlens.store.tables import Reader

if TYPE_CHECKING:
    from turnlens.store.store_encoder import StoreEncoder

SearchMode = Literal["vector", "text", "hybrid"]
_MODES = ("vector", "text", "hybrid")


class StoreReader:
    """The searches of a store, see `ConversationStore`.

    Args:
        path: Its folder.
        encoder: Its encoder; ``None`` loads the one it names when it is needed.
        digest: The hash of the encoder.
    """

    def __init__(self, path: Path, encoder: StoreEncoder | None, digest: str | None) -> None:
        self.path = path
        self._reader = Reader(path)
        self._own_encoder = encoder
        self._known_automatic: tuple[int, AutomaticReplies] | None = None  # and of how many messages
        self._looking = Lock()  # threads of a service look once
        self._loaded: tuple[str, StoreEncoder] | None = None if encoder is None else (str(digest), encoder)

    def get(self, id: str) -> dict[str, Any] | None:
        """A conversation as it was added; ``None`` if it is not there."""
        if not isinstance(id, str):
            raise TypeError(f"id: expected a text, got {id!r:.60}")
        return next(conversations_of(self.tables(), [id]), None)

    def export(self) -> Iterator[dict[str, Any]]:
        """All conversations that are in the store now, as they were added, in no particular order."""
        tables = self.tables()
        return conversations_of(tables, all_ids(tables))

    def ids(self, where: str | None = None) -> list[str]:
        """The ids of all conversations, or of those that fulfil a filter (as for `search_conversations`).

        Raises:
            FilterError: The filter cannot be read.
        """
        tables = self.tables()
        if where is None:
            return all_ids(tables)
        rows = tables.conversations.rows(read_filter(where, CONVERSATION_COLUMNS), ["conversation"])
        return rows["conversation"].to_pylist()

    def check(self) -> None:
        """Read a little of every file of texts, so that one that was cut or removed is an error now, not later.

        Raises:
            StoreError: The store is damaged.
        """
        tables = self.tables()
        tables.messages.count_rows("turn >= 0")
        tables.conversations.count_rows("turns >= 0")
        if has_text_index(tables):
            tables.messages.matching("conversation", None, 1)

    def tables(self) -> Tables:
        """The tables as last committed, for going through all rows; later commits do not change them."""
        return self._reader.tables()

    def encoder(self) -> StoreEncoder:
        """The store's encoder, loaded if none was passed."""
        return self._encoder(self.tables().state)

    def search_messages(
        self,
        query: str | ArrayLike,
        *,
        mode: SearchMode = "vector",
        where: str | None = None,
        limit: int = 10,
        offset: int = 0,
    ) -> list[MessageHit]:
        """Find messages similar to a text or a vector.

        Args:
            query: A text, or with mode ``"vector"`` a vector (dim,).
            mode: ``"vector"`` finds messages with a similar meaning, ``"text"`` those that share words (BM25), and
                ``"hybrid"`` fuses both rankings (reciprocal rank fusion).
            where: A filter on messages: conversation, turn, role, text, time, label.NAME; a message also has the labels
                of its conversation.
            limit: How many to return.
            offset: How many of the best to leave out.

        Raises:
            ValueError: A setting is out of range, or the query is empty or does not fit the mode.
            TypeError: The query is neither a text nor a vector, such as a list of texts.
            FilterError: The filter cannot be read.
        """
        _check_range(limit, offset)
        if mode not in _MODES:
            raise ValueError(f"mode must be one of {', '.join(_MODES)}, got {mode!r}")
        if not isinstance(query, str) and mode != "vector":
            raise ValueError(f"expected a text for mode {mode!r}, got {type(query).__name__}")
        if isinstance(query, str):
            _require_text([query])
        tables = self.tables()
        vector = None if mode == "text" else self._query_vector(tables.state, query)
        text = str(query) if mode != "vector" else None
        return find_messages(tables, vector, text, _condition(where), limit, offset)

    def search_conversations(
        self, query: str | Sequence[Message], *, where: str | None = None, limit: int = 10, offset: int = 0
    ) -> list[ConversationHit]:
        """Find whole conversations similar to a text or to a conversation.

        Args:
            query: A text, or messages ``{"role", "content"}``.
            where: A filter on conversations: conversation, turns, speaker, first_time, last_time, label.NAME.
            limit: How many to return.
            offset: How many of the best to leave out.

        Raises:
            ValueError: A setting is out of range, or the query has no text.
            FilterError: The filter cannot be read.
        """
        _check_range(limit, offset)
        tables = self.tables()
        messages = [{"role": "user", "content": query}] if isinstance(query, str) else query
        vector = self._encoder(tables.state).conversation_query(_plain_conversation(messages))
        condition = None if where is None else read_filter(where, CONVERSATION_COLUMNS)
        return find_conversations(tables, vector, condition, limit, offset)

    def next_replies(
        self,
        messages: Sequence[Message],
        *,
        distinct: bool = True,
        where: str | None = None,
        limit: int = 10,
        offset: int = 0,
        mode: str | None = None,
        speaker: str | None = None,
    ) -> list[ReplyHit]:
        """Rank messages of the store as the next one of a conversation, as `turnlens.ReplyModel` does.

        These are the messages of the role that speaks next; if only one has spoken, those of all others. If there are
        none, or the filter names a role, all that pass the filter are ranked. Automatic replies, which are the first
        answer to anything, are left out, here and there.

        A reply that is likely to fit is suggested: it comes first and has a ``probability``. It is what mostly followed
        the situations of the store that are most like this one. If the first reply has none, there is no suggestion.

        Args:
            messages: The conversation so far, ``{"role", "content"}`` each; those without text are left out.
            distinct: Return each reply only once: of those that say the same (a cosine of 0.7), the best.
            where: A filter on messages, as for `search_messages`.
            limit: How many to return.
            offset: How many of the best to leave out.
            mode: How to score: a mode of `turnlens.ReplyModel` that is an inner product; by default its first.
            speaker: The role that speaks next; by default the one that spoke before the last speaker.

        Raises:
            ValueError: No message has text, a setting is out of range, the model does not serve the mode; or the filter
                names no role, and no message of the store has the role ``speaker`` or, without it, any of these roles.
            FilterError: The filter cannot be read.
        """
        from turnlens.encoders.reply_model import next_speaker

        _check_range(limit, offset)
        tables = self.tables()
        plain = [message for message in _plain_conversation(messages) if message["content"].strip()]
        if speaker is not None:
            require_speaker(tables, speaker, where)
        else:
            require_known_role(tables, plain, where)
        automatic = self._automatic(tables)
        plain = [message for message in plain if not automatic.has(message["role"], message["content"])] or plain
        encoder = self._encoder(tables.state)
        query = encoder.reply_query(plain, mode, speaker)
        condition = by_next_speaker(tables, plain, speaker or next_speaker(plain), _condition(where))
        suggested = same = None
        if encoder.tells_apart:  # or else its cosines are not like those with which probabilities were learned
            situation = np.stack([encoder.text_query(message["content"]) for message in plain[: -SITUATION - 1 : -1]])
            suggested, same = find_suggestion(tables, situation, condition, automatic), SAME if distinct else None
        return find_replies(tables, query, condition, limit, offset, distinct, automatic, suggested, same)

    def stats(self) -> StoreStats:
        """Count what the store holds."""
        tables = self.tables()
        state = tables.state
        return StoreStats(
            conversations=tables.conversations.count_rows(),
            messages=tables.messages.count_rows(),
            bytes=sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file()),
            encoder=state.encoder,
            pooling=state.pooling,
            tokenizer=state.tokenizer,
            indexes=state.indexes,
        )

    def _automatic(self, tables: Tables) -> AutomaticReplies:
        """The automatic replies of the store, sought again when as much has changed as must have one."""
        count = tables.messages.count_rows()
        with self._looking:
            known = self._known_automatic
            if known is None or abs(count - known[0]) > LEAST_SHARE * known[0]:
                self._known_automatic = known = (count, automatic_replies_of(tables))
            return known[1]

    def _encoder(self, state: StoreState) -> StoreEncoder:
        """The encoder that made the stored vectors."""
        if self._loaded is None or (self._own_encoder is None and self._loaded[0] != state.digest):
            encoder = store_encoder(state.encoder, state.pooling)
            self._loaded = (encoder.digest(), encoder)
        digest, encoder = self._loaded
        if digest != state.digest:
            raise other_encoder(self.path, state, encoder.name)
        encoder.pooling = state.pooling  # another process may have changed it
        return encoder

    def _query_vector(self, state: StoreState, query: str | ArrayLike) -> np.ndarray:
        if isinstance(query, str):
            return self._encoder(state).text_query(query)
        if self._own_encoder is not None:
            self._encoder(state)  # whoever gave the encoder made the vector with it
        try:
            vector = np.asarray(query, np.float32)
        except (TypeError, ValueError):
            raise TypeError(
                f"query: expected one text or a vector of {state.dim} numbers, got {query!r:.60}: search for one text "
                "at a time"
            ) from None
        if vector.shape != (state.dim,):
            raise ValueError(f"expected a vector of {state.dim} numbers, got shape {vector.shape}")
        return unit_vectors(vector)


def _plain_conversation(messages: Sequence[Message]) -> list[Message]:
    if isinstance(messages, str | Mapping) or not isinstance(messages, Iterable):
        raise TypeError(f'messages: expected a list of {{"role", "content"}}, got {messages!r:.60}')
    plain = plain_messages(list(messages), "the conversation")
    _require_text([message["content"] for message in plain])
    return instructions_apart(plain)[1] or plain  # as they are stored


def _require_text(texts: Sequence[str]) -> None:
    if not any(text.strip() for text in texts):
        raise ValueError("the query has no text: expected one or more words")


def _condition(where: str | None) -> str | None:
    return None if where is None else read_filter(where, MESSAGE_COLUMNS)


def _check_range(limit: int, offset: int) -> None:
    if limit < 1 or offset < 0:
        raise ValueError(f"limit must be 1 or more and offset 0 or more, got {limit} and {offset}")
