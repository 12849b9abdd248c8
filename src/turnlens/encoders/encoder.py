"""Encoders as everything here uses them, with torch or without: methods for messages and conversations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import numpy as np

from turnlens.data.conversation_source import ConversationSource
from turnlens.data.conversations import ConversationInput
from turnlens.data.messages import texts_of
from turnlens.encoders.centre import Centre
from turnlens.encoders.history import add_history

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from turnlens._utils.vectors import FloatArray
    from turnlens.encoders.rendering import Keep, TokenRows
    from turnlens.encoders.tokenizing import TextTokenizer
    from turnlens.encoders.vector_cache import VectorCache

Half = Literal["bfloat16", "float16"]

_TEXTS_AT_ONCE = 1024  # tokenized together: with fewer, slices are cut short; with more, long texts fill the memory


class Encoder:
    """Turns texts and conversations into vectors; `turnlens.load_encoder` gives one.

    One of ONNX Runtime needs no torch; a `turnlens.ConversationEncoder` is a ``SentenceTransformer`` to train.

    Attributes:
        centre: The centre for each way of pooling, which `encode_conversations` applies; or ``{}``.
        prompts: Texts to put before a text, by their names.
        default_prompt_name: The name of the one that is used where none is named; or ``None``.
        max_seq_length: How many tokens of a text are read.
        source: The place it was loaded from: a Hub name or a path.
    """

    centre: Mapping[str, Centre] = {}
    reply_head: Any = None
    if TYPE_CHECKING:
        prompts: Any
        default_prompt_name: str | None
        max_seq_length: Any
        source: str

        def get_embedding_dimension(self) -> int | None:
            """The length of its vectors."""

        @property
        def text_tokenizer(self) -> TextTokenizer:
            """Its tokenizer."""

        @property
        def width(self) -> int | None:
            """The length of the states of its tokens; ``None`` without a transformer, as for static embeddings."""

        @property
        def vocabulary(self) -> int:
            """The number of tokens that its transformer has vectors for."""

        @property
        def positions(self) -> int | None:
            """The number of tokens that its transformer has positions for; ``None`` for any number."""

        @property
        def weights_digest(self) -> str:
            """A hash of all that its vectors depend on, but for the tokenizer."""

        @property
        def tokenizing(self) -> str:
            """All that the tokens of a text depend on; empty where that is not known."""

    def limit_threads(self, threads: int) -> None:
        """Use so many processor threads from now on."""
        raise NotImplementedError

    def token_rows(self, texts: list[str], prompt: str = "", newest: bool = False) -> list[list[int]]:
        """The token ids of texts as it reads them; see `TextTokenizer.rows`."""
        return self.text_tokenizer.rows(texts, prompt, newest)

    def embed_rows(self, rows: Sequence[Sequence[int]]) -> FloatArray:
        """The vectors of token rows, float32 (rows, dim)."""
        raise NotImplementedError

    def embed_batch(
        self, texts: list[str], prompt: str, batch_size: int | None, dtype: Half | None, newest: bool
    ) -> FloatArray:
        """The vectors of some texts, float32 (texts, dim); see `encode_texts`."""
        raise NotImplementedError

    def token_sums(
        self, rows: TokenRows, owners: Sequence[Sequence[int]], count: int, dtype: Half | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """The sum of the states of the tokens of each owner, float32 (count, width), and their number (count,).

        Args:
            rows: The tokens.
            owners: The number of each token's owner.
            count: The number of owners.
            dtype: See `encode_messages`.
        """
        raise NotImplementedError

    def after_pooling(self, vectors: FloatArray) -> FloatArray:
        """Apply what comes after the pooling to vectors that were pooled elsewhere, float32 (n, dim)."""
        raise NotImplementedError

    def for_inference(self, characters: int, dtype: Half | None) -> Encoder:
        """The encoder that embeds texts of so many characters soonest, with the same vectors."""
        return self

    def encode_texts(
        self,
        texts: Sequence[str],
        prompt: str | None = None,
        batch_size: int | None = None,
        dtype: Half | None = None,
        newest: bool = False,
        advance: Callable[[int], None] = lambda count: None,
    ) -> FloatArray:
        """Embed texts.

        Args:
            texts: At least one text.
            prompt: What to put before each text.
            batch_size: At most this many texts in a forward pass.
            dtype: See `encode_messages`.
            newest: Leave out the first words of a text that is too long, not the last.
            advance: Called with the number of texts that have been embedded since the last call.

        Returns:
            float32 (texts, dim)
        """
        encoder = self.for_inference(sum(map(len, texts)), dtype)
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        vectors = []
        for start in range(0, len(order), _TEXTS_AT_ONCE):
            batch = [texts[number] for number in order[start : start + _TEXTS_AT_ONCE]]
            vectors.append(encoder.embed_batch(batch, prompt or "", batch_size, dtype, newest))
            advance(len(batch))
        return np.concatenate(vectors)[np.argsort(order)]

    def encode_messages(
        self,
        messages: Sequence[str] | ConversationSource,
        *,
        context: Literal["history", "conversation"] | None = None,
        batch_size: int | None = None,
        show_progress_bar: bool = False,
        prompt_name: str | None = None,
        dtype: Half | None = None,
        cache: VectorCache | None = None,
    ) -> np.ndarray:
        """Embed messages, each alone or with the messages before or around it.

        Each distinct text is embedded once. Messages alone get the same vectors as from ``encode``, but faster.

        Args:
            messages: A list of texts, or conversations: lists of messages, ``{"role", "content"}``, or what
                `turnlens.read_conversations` reads or gives. With a ``context``, only conversations will do.
            context: With ``"history"``, the messages before each message are added to its vector with weights that
                shrink with their distance (`add_history`). With ``"conversation"``, the encoder reads whole
                conversations, and the vector of a message is the mean of its tokens, which have seen everything said
                before and after it. Either way the vector of "Yes, please." is close to that of the question.
            batch_size: At most this many texts in a forward pass; by default as many as suit the device.
            show_progress_bar: Show a progress bar on a terminal.
            prompt_name: The encoder's prompt to put before each text; by default its default prompt, if it has one.
            dtype: ``"bfloat16"`` or ``"float16"`` to compute in half precision, which is several times faster on
                hardware made for it and changes cosines by some thousandths. By default the precision in which the
                encoder was loaded.
            cache: Keeps the vectors of this encoder for later calls.

        Returns:
            The messages of all conversations in a row, float32 (messages, dim). With a ``context`` they have length 1,
            or are zero for messages without tokens.

        Raises:
            ValueError: A single text, an unknown setting, texts where conversations are needed, an empty conversation,
                or with ``"conversation"`` a ``batch_size``, ``prompt_name`` or ``cache``, or an encoder that is no
                transformer.
            TypeError: An item of a list of texts is no text.

        Examples:
            >>> import turnlens
            >>> encoder = turnlens.load_encoder()
            >>> chat = [{"role": "agent", "content": "Shall I cancel it?"}, {"role": "user", "content": "Yes, please."}]
            >>> encoder.encode_messages([chat], context="history").shape
            (2, 384)
        """
        if context not in (None, "history", "conversation"):
            raise ValueError(f"context must be None, 'history' or 'conversation', got {context!r}")
        texts = list(messages) if _are_texts(messages) else None
        if texts and context is not None:
            raise ValueError(f"context={context!r} needs conversations, got texts: give lists of messages")
        conversations = ConversationInput(messages).messages() if texts is None else []
        from turnlens.encoders.messages import encode_in_context, encode_messages

        if context == "conversation":
            if batch_size is not None or prompt_name is not None or cache is not None:
                raise ValueError("batch_size, prompt_name and cache are for single texts: leave them out here")
            return encode_in_context(self, conversations, show_progress_bar, dtype)
        texts = texts_of(conversations) if texts is None else texts
        vectors = encode_messages(self, texts, batch_size, show_progress_bar, prompt_name, dtype, cache)
        return vectors if context is None else add_history(vectors, [len(turns) for turns in conversations])

    def encode_conversations(
        self,
        conversations: ConversationSource,
        *,
        pooling: str = "mean",
        long: Literal["truncate", "window"] = "truncate",
        keep: Keep = "head",
        show_progress_bar: bool = False,
        absent: Literal["raise", "zero"] = "raise",
        dtype: Half | None = None,
    ) -> np.ndarray:
        """Embed whole conversations.

        An encoder trained on whole conversations separates the messages as its chat template does; for any other
        encoder a conversation is the text of all its messages.

        Args:
            conversations: Lists of messages, ``{"role", "content"}``, or what `turnlens.read_conversations` reads or
                gives.
            pooling: ``"mean"`` is the mean of all tokens. For conversations within the limit of an encoder that pools
                this way, it is what the encoder's own ``encode`` gives, unless its transformer has inputs of turns and
                roles, which only this method uses. ``"speaker:<role>"`` is the mean of one speaker's tokens.
                ``"messages"`` is the mean of the vectors of the messages, each embedded by itself and weighted by its
                number of tokens; ``long`` and ``keep`` then have no effect. Extensions add others, such as
                ``"interlocutor"``: the sum over speakers of the mean of their tokens.
            long: What to do with conversations longer than the encoder's limit: ``"truncate"`` keeps whole messages at
                the ends that ``keep`` names and warns; ``"window"`` embeds overlapping windows of whole messages and
                weights them by their tokens. In these, messages longer than half the limit are split into parts.
            keep: ``"head"``, ``"tail"`` or ``"both"``.
            show_progress_bar: Show a progress bar.
            absent: What to do with a conversation in which the role asked for is missing or says nothing: raise an
                error, or give zeros.
            dtype: Half precision to compute in, see `encode_messages`.

        Returns:
            Embeddings, float32, of length 1 if the encoder normalises its own (conversations, dim). If the encoder has
            a `centre` for this pooling, it is applied.

        Raises:
            ValueError: An unknown setting, an empty conversation, or one in which the role asked for is absent.

        Examples:
            >>> import turnlens
            >>> encoder = turnlens.load_encoder()
            >>> chat = [{"role": "user", "content": "Where is my parcel?"}, {"role": "agent", "content": "On its way."}]
            >>> encoder.encode_conversations([chat], pooling="messages").shape
            (1, 384)
        """
        from turnlens.encoders.conversation_pooling import encode_conversations

        read, centre = ConversationInput(conversations).messages(), self.centre.get(pooling)
        return encode_conversations(self, read, centre, pooling, long, keep, show_progress_bar, absent, dtype)


def as_conversational(encoder: Encoder | SentenceTransformer) -> Encoder:
    """Return an encoder with these methods: itself, or made of the modules of a plain ``SentenceTransformer``."""
    if isinstance(encoder, Encoder):
        return encoder
    from turnlens.encoders.conversation_encoder import ConversationEncoder

    return ConversationEncoder.of(encoder)


def _are_texts(messages: object) -> TypeGuard[Collection[str]]:
    """Return true for texts alone: a list of them, or a column of a table."""
    if isinstance(messages, str | Mapping) or not isinstance(messages, Collection) or hasattr(messages, "columns"):
        return False
    return isinstance(next(iter(messages), ""), str)
