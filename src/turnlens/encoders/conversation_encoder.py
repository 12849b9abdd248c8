"""A stock SentenceTransformer with methods for conversations, and with parts that are saved beside it.

The parts, a reply head and a centre, are small files beside the weights. Plain
``SentenceTransformer(path)`` leaves these out, and also weights that a method has added to those of the transformer.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import numpy as np
from huggingface_hub import try_to_load_from_cache
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer
from typing_extensions import override

from turnlens.data.conversation_source import ConversationSource
from turnlens.data.conversations import ConversationInput
from turnlens.data.messages import texts_of
from turnlens.encoders.centre import CENTRE_FILE, Centre, check_centre, read_centre, write_centre
from turnlens.encoders.conversation_pooling import encode_conversations
from turnlens.encoders.history import add_history
from turnlens.encoders.in_context import encode_in_context
from turnlens.encoders.inference import Half
from turnlens.encoders.messages import encode_messages
from turnlens.encoders.rendering import Keep
from turnlens.encoders.reply_head import HEAD_FILE, ReplyHead, check_head, read_head, write_head
from turnlens.encoders.transformer import restore_added_weights
from turnlens.encoders.weight_check import DamagedEncoder, checked_loading, write_checksums

if TYPE_CHECKING:
    from turnlens.encoders.vector_cache import VectorCache


class ConversationEncoder(SentenceTransformer):
    """A ``SentenceTransformer`` with methods for messages and conversations, and with parts that are saved beside it.

    It is made by `turnlens.load_encoder` or a training, or as any ``SentenceTransformer`` is. Everything that takes an
    encoder also takes a plain ``SentenceTransformer``.

    Setting a part raises ``ValueError`` if it is for vectors of a different length, or is not finite.

    Attributes:
        reply_head: The head that composes queries for the next message, frozen when it is set; or ``None``.
        centre: The centre for each way of pooling, which `encode_conversations` applies; or ``{}``.
        training_report: After `turnlens.train`, a `turnlens.training.TrainingReport` of whether it helped.

    Example:
        >>> import turnlens
        >>> encoder = turnlens.load_encoder()
        >>> parcel, package, thanks = encoder.encode_messages(["Where is my parcel?", "My package is late.", "Thanks!"])
        >>> bool(parcel @ package > parcel @ thanks)
        True
    """

    reply_head: ReplyHead | None = None
    centre: Mapping[str, Centre] = {}
    training_report: Any = None

    def __init__(self, model_name_or_path: str | None = None, **settings: Any) -> None:
        if model_name_or_path is None:
            return super().__init__(**settings)
        with checked_loading(self, model_name_or_path):
            super().__init__(model_name_or_path, **settings)
        self.restore_parts(model_name_or_path)

    @classmethod
    def of(cls, encoder: SentenceTransformer) -> ConversationEncoder:
        """Return an encoder as a `ConversationEncoder`: itself if it is one, else one made from the same modules.

        Example:
            >>> import turnlens
            >>> encoder = turnlens.load_encoder()
            >>> turnlens.ConversationEncoder.of(encoder) is encoder
            True
        """
        if isinstance(encoder, cls):
            return encoder
        return cls(
            modules=OrderedDict(encoder.named_children()),
            device=str(encoder.device),
            prompts=encoder.prompts,
            default_prompt_name=encoder.default_prompt_name,
            similarity_fn_name=encoder.similarity_fn_name,
            truncate_dim=encoder.truncate_dim,
        )

    def clone(self) -> ConversationEncoder:
        """Return a copy with weights of its own, whose training leaves this encoder as it is.

        Example:
            >>> import turnlens
            >>> encoder = turnlens.load_encoder()
            >>> clone = encoder.clone()
            >>> clone[0] is encoder[0]
            False
        """
        return copy.deepcopy(self)

    def shallow_copy(self) -> ConversationEncoder:
        """Return an encoder with the same modules, but with a reply head and a centre of its own.

        Example:
            >>> import turnlens
            >>> encoder = turnlens.load_encoder()
            >>> copied = encoder.shallow_copy()
            >>> copied.reply_head = None
            >>> copied[0] is encoder[0], encoder.reply_head is None
            (True, False)
        """
        return copy.copy(self)

    @override
    def __setattr__(self, name: str, value: Any) -> None:
        if name == "centre":
            check_centre(value, self.get_embedding_dimension())
        if name != "reply_head":
            return super().__setattr__(name, value)
        if value is not None:
            check_head(value, self.get_embedding_dimension())
            value.eval().requires_grad_(False)
        object.__setattr__(self, name, value)  # unregistered: a stock encoder runs its input through all its modules

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

        Example:
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

        Example:
            >>> import turnlens
            >>> encoder = turnlens.load_encoder()
            >>> chat = [{"role": "user", "content": "Where is my parcel?"}, {"role": "agent", "content": "On its way."}]
            >>> encoder.encode_conversations([chat], pooling="messages").shape
            (1, 384)
        """
        read, centre = ConversationInput(conversations).messages(), self.centre.get(pooling)
        return encode_conversations(self, read, centre, pooling, long, keep, show_progress_bar, absent, dtype)

    @override
    def save(self, path: str, *arguments: Any, **settings: Any) -> None:
        """Save as a ``SentenceTransformer`` does, and write the reply head, the centre and checksums beside it."""
        super().save(path, *arguments, **settings)
        for name in (HEAD_FILE, CENTRE_FILE):
            (Path(path) / name).unlink(missing_ok=True)  # of an encoder that was saved here before
        if self.reply_head is not None:
            write_head(self.reply_head, Path(path) / HEAD_FILE)
        if self.centre:
            write_centre(self.centre, Path(path) / CENTRE_FILE)
        write_checksums(Path(path))

    def restore_parts(self, name_or_path: str) -> None:
        """Add what was saved beside the weights of a stock encoder that was loaded from there.

        Args:
            name_or_path: The folder, or the name on the Hub, which has no reply head or centre.

        Raises:
            DamagedEncoder: A file is damaged, or belongs to another encoder.
        """
        folder = Path(name_or_path)
        is_local = folder.is_dir()
        file = "model.safetensors"
        weights = folder / file if is_local else try_to_load_from_cache(name_or_path, file)
        try:
            # Other kinds of encoders keep their weights elsewhere; no method has added any to these.
            if isinstance(weights, (str, Path)) and Path(weights).is_file():
                restore_added_weights(self, weights)
            for part, name, read in (("reply_head", HEAD_FILE, read_head), ("centre", CENTRE_FILE, read_centre)):
                if is_local and (folder / name).is_file():
                    self._restore(part, read(folder / name), folder / name)
        except SafetensorError as error:
            raise DamagedEncoder(
                f"cannot load the encoder {name_or_path!r}: a file of weights is damaged: {error}"
            ) from error
        except ValueError as error:
            raise DamagedEncoder(str(error)) from error

    def _restore(self, part: str, value: Any, path: Path) -> None:
        try:
            setattr(self, part, value)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


def _are_texts(messages: object) -> TypeGuard[Collection[str]]:
    """Return true for texts alone: a list of them, or a column of a table."""
    if isinstance(messages, str | Mapping) or not isinstance(messages, Collection) or hasattr(messages, "columns"):
        return False
    return isinstance(next(iter(messages), ""), str)
