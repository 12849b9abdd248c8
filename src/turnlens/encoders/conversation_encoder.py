"""A stock SentenceTransformer with methods for conversations, and with parts that are saved beside it.

The parts, a reply head and a centre, are small files beside the weights. Plain
``SentenceTransformer(path)`` leaves these out, and also weights that a method has added to those of the transformer.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import try_to_load_from_cache
from sentence_transformers import SentenceTransformer
from torch import nn
from typing_extensions import override

from turnlens._compat import loaded_from, set_loaded_from
from turnlens.encoders.centre import CENTRE_FILE, Centre, check_centre, write_centre
from turnlens.encoders.encoder import Encoder, Half
from turnlens.encoders.encoder_parts import NeedsTorch
from turnlens.encoders.folders import published_source
from turnlens.encoders.inference import TorchPasses, has_hooks, parts_of
from turnlens.encoders.onnx_encoder import OnnxEncoder, read_beside
from turnlens.encoders.reply_head import ReplyHead
from turnlens.encoders.reply_scores import HEAD_FILE, check_head, write_head
from turnlens.encoders.tokenizing import TextTokenizer, lasting_settings, transformers_tokenizer
from turnlens.encoders.transformer import checked_loading, positions, restore_added_weights, transformer_of
from turnlens.encoders.weight_check import DamagedEncoder, refusing_damage, write_checksums

_WORTH_A_SESSION = 20_000  # characters, which torch embeds in the time that a session of ONNX Runtime takes to build


class ConversationEncoder(TorchPasses):
    """A ``SentenceTransformer`` with methods for messages and conversations, and with parts that are saved beside it.

    It is made by a training, by `turnlens.load_encoder` with a ``device``, or as any ``SentenceTransformer`` is.
    Everything that takes an encoder also takes a plain ``SentenceTransformer``.

    Setting a part raises ``ValueError`` if it is for vectors of a different length, or is not finite.

    Attributes:
        reply_head: The head that composes queries for the next message, frozen when it is set; or ``None``.
        centre: The centre for each way of pooling, which `encode_conversations` applies; or ``{}``.
        training_report: After `turnlens.train`, a `turnlens.training.TrainingReport` of whether it helped.

    Examples:
        >>> import turnlens
        >>> encoder = turnlens.load_encoder(device="cpu")
        >>> parcel, package, thanks = encoder.encode_messages(["Where is my parcel?", "My package is late.", "Thanks!"])
        >>> bool(parcel @ package > parcel @ thanks)
        True
    """

    reply_head: ReplyHead | None = None
    centre: Mapping[str, Centre] = {}
    training_report: Any = None

    def __init__(self, model_name_or_path: str | None = None, **settings: Any) -> None:
        if model_name_or_path is None:
            return SentenceTransformer.__init__(self, **settings)
        with checked_loading(self, model_name_or_path):
            SentenceTransformer.__init__(self, model_name_or_path, **settings)
        self.restore_parts(model_name_or_path)

    @classmethod
    def of(cls, encoder: SentenceTransformer) -> ConversationEncoder:
        """Return an encoder as a `ConversationEncoder`: itself if it is one, else one made from the same modules.

        Examples:
            >>> import turnlens
            >>> encoder = turnlens.load_encoder(device="cpu")
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

        Examples:
            >>> import turnlens
            >>> encoder = turnlens.load_encoder(device="cpu")
            >>> clone = encoder.clone()
            >>> clone[0] is encoder[0]
            False
        """
        return copy.deepcopy(self)

    def shallow_copy(self) -> ConversationEncoder:
        """Return an encoder with the same modules, but with a reply head and a centre of its own.

        Examples:
            >>> import turnlens
            >>> encoder = turnlens.load_encoder(device="cpu")
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
            check_head(value.arrays(), self.get_embedding_dimension())
            value.eval().requires_grad_(False)
        object.__setattr__(self, name, value)  # unregistered: a stock encoder runs its input through all its modules

    @property
    def source(self) -> str:
        """The place that it can be loaded from."""
        if self.transformers_model is None:
            return str(getattr(self, "_source", ""))
        return published_source(loaded_from(transformer_of(self)))

    @source.setter
    def source(self, source: str) -> None:
        if self.transformers_model is None:
            object.__setattr__(self, "_source", source)
        else:
            set_loaded_from(transformer_of(self), source)

    @property
    @override
    def text_tokenizer(self) -> TextTokenizer:
        return transformers_tokenizer(self.tokenizer, self.max_seq_length)

    @property
    @override
    def width(self) -> int | None:
        transformer = self.transformers_model
        return None if transformer is None else transformer.config.get_text_config().hidden_size

    @property
    @override
    def vocabulary(self) -> int:
        table: Any = transformer_of(self).get_input_embeddings()
        return int(table.num_embeddings)

    @property
    @override
    def positions(self) -> int | None:
        return None if self.transformers_model is None else positions(transformer_of(self))

    @property
    @override
    def weights_digest(self) -> str:
        try:
            return parts_of(self).digest
        except NeedsTorch:
            return state_digest(self)

    @property
    @override
    def tokenizing(self) -> str:
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is None:
            return ""
        tokenizer = self.tokenizer
        limits = (self.max_seq_length, self.truncate_dim, tokenizer.truncation_side, tokenizer.chat_template)
        return json.dumps(lasting_settings(backend.to_str()), sort_keys=True) + repr(limits)

    @override
    def limit_threads(self, threads: int) -> None:
        torch.set_num_threads(threads)

    @override
    def for_inference(self, characters: int, dtype: Half | None) -> Encoder:
        if self.device.type != "cpu" or dtype is not None or characters < _WORTH_A_SESSION or has_hooks(self):
            return self
        try:
            parts = parts_of(self)
        except NeedsTorch:
            return self
        return OnnxEncoder(parts, self.text_tokenizer, "", self.prompts, self.default_prompt_name)

    @override
    def save(self, path: str, *arguments: Any, **settings: Any) -> None:
        """Save as a ``SentenceTransformer`` does, and write the reply head, the centre and checksums beside it."""
        super().save(path, *arguments, **settings)
        for name in (HEAD_FILE, CENTRE_FILE):
            (Path(path) / name).unlink(missing_ok=True)  # of an encoder that was saved here before
        if self.reply_head is not None:
            write_head(self.reply_head.arrays(), Path(path) / HEAD_FILE)
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
        folder, file = Path(name_or_path), "model.safetensors"
        weights = folder / file if folder.is_dir() else try_to_load_from_cache(name_or_path, file)
        with refusing_damage(name_or_path):
            try:
                # Other kinds of encoders keep their weights elsewhere; no method has added any to these.
                if isinstance(weights, (str, Path)) and Path(weights).is_file():
                    restore_added_weights(self, weights)
            except ValueError as error:
                raise DamagedEncoder(str(error)) from error
        head, self.centre = read_beside(folder, self.get_embedding_dimension())
        self.reply_head = None if head is None else ReplyHead.of(head)


def state_digest(model: nn.Module) -> str:
    """A hash of the modules and parameters of any model."""
    modules = str(model)
    if isinstance(model, SentenceTransformer):  # a subclass of ours has the modules and weights of a stock encoder
        modules = modules.replace(type(model).__name__, SentenceTransformer.__name__, 1)
    digest = hashlib.blake2b(modules.encode(), digest_size=10)
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()
