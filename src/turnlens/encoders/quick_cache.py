"""A cache of encoders for queries, which then need neither torch nor the encoder's own files.

When an encoder has been loaded, `keep_quick` writes it under the state of its files, unless `QuickEncoder` would give
other vectors. `quick_encoder` finds it as long as none of these files changes, nor the libraries that load them. If
the encoder turns out to have other weights all the same, `forget_quick` removes what was kept.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from turnlens._compat import datasets_cache
from turnlens._utils.files import atomic_path
from turnlens._utils.registries import REPLY_MODELS
from turnlens._utils.vectors import FloatArray, unit_vectors
from turnlens.encoders import quick as quick_file
from turnlens.encoders.folders import places_of
from turnlens.encoders.long_texts import tokens_read
from turnlens.encoders.messages import encode_messages
from turnlens.encoders.quick import QuickEncoder, head_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_MOST_KEPT = 4  # encoders
_MOST_PARAMETERS = 150_000_000  # four bytes each in the cache
_CLOSE = 1e-6
_LOADED_BY = ("torch", "transformers", "sentence-transformers")
_PROBES = ("My card is gone!", "Ça va, ÉLODIE? 你好", "a", "where is my parcel, which I sent a week ago? " * 120)
_PARTS = {
    "out": "attention.output.dense",
    "first": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "last": "output.LayerNorm",
}


def quick_encoder(name: str | os.PathLike[str] | None) -> QuickEncoder | None:
    """The encoder of this name for queries, if `keep_quick` has kept it and its files are the same."""
    for file in _folder().glob(f"{_key(name)}-*"):
        # It may be damaged, or another process removes it.
        with suppress(OSError), file.open("rb") as stream:
            if file.name.endswith(_state(file)):
                return QuickEncoder(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
            file.unlink()
    return None


def forget_quick(name: str | os.PathLike[str] | None) -> None:
    """Remove what `keep_quick` has kept of the encoder of this name."""
    with suppress(OSError):
        for file in _folder().glob(f"{_key(name)}-*"):
            file.unlink()


def keep_quick(name: str | os.PathLike[str] | None, encoder: SentenceTransformer, digest: str, source: str) -> None:
    """Keep an encoder for queries, if its vectors can be made here.

    Args:
        name: What it was loaded by.
        encoder: The encoder.
        digest: Its hash in stores.
        source: Where it was loaded from, as stores name it.
    """
    if _places(source) != _places(name):
        return  # something else was loaded in its place
    transformer, folder = encoder.transformers_model, _folder()
    if transformer is None or transformer.config.model_type != "bert" or REPLY_MODELS.first_of(encoder.prompts):
        return
    if getattr(encoder[1], "pooling_mode", "") != "mean" or transformer.num_parameters() > _MOST_PARAMETERS:
        return
    # A disk that is full or cannot be written to leaves queries as slow as they are.
    with suppress(OSError):
        if any(folder.glob(f"{(key := _key(name))}-*")):
            return
        data = _packed(encoder, digest, source)
        if not _agree(QuickEncoder(data), encoder):
            return
        with atomic_path(folder / key) as temporary:
            temporary.write_bytes(data)
        (folder / key).rename(folder / f"{key}{_state(folder / key)}")
        for oldest in sorted(folder.iterdir(), key=lambda kept: kept.stat().st_mtime)[:-_MOST_KEPT]:
            oldest.unlink(missing_ok=True)


def _packed(encoder: SentenceTransformer, digest: str, source: str) -> bytes:
    """The file of an encoder for queries."""
    from safetensors.numpy import save
    from sentence_transformers.base.modules import Dense

    from turnlens.encoders.vector_cache import vectors_digest

    transformer: Any = encoder.transformers_model
    config = transformer.config
    arrays: dict[str, FloatArray] = {}
    weights = {name: weight.detach().cpu().float().numpy() for name, weight in transformer.state_dict().items()}

    def add(name: str, *parts: str) -> None:
        matrices = np.concatenate([weights[f"{part}.weight"] for part in parts])
        arrays[f"{name}.weight"] = np.ascontiguousarray(matrices.T)  # a vector stays as it is
        arrays[f"{name}.bias"] = np.concatenate([weights[f"{part}.bias"] for part in parts])

    arrays["words"], every = weights["embeddings.word_embeddings.weight"], "embeddings.token_type_embeddings.weight"
    arrays["positions"] = weights["embeddings.position_embeddings.weight"] + weights[every][0]
    add("embedded", "embeddings.LayerNorm")
    for layer in range(config.num_hidden_layers):
        place = f"encoder.layer.{layer}."
        add(f"{layer}mix", *(f"{place}attention.self.{part}" for part in ("query", "key", "value")))
        for name, part in _PARTS.items():
            add(f"{layer}{name}", place + part)
    for module in encoder:
        if isinstance(module, Dense):  # after scaling to length 1, as a training adds it
            arrays["projection.weight"], arrays["projection.bias"] = (
                weight.detach().cpu().float().numpy() for weight in (module.linear.weight.T, module.linear.bias)
            )
    centre, head = getattr(encoder, "centre", {}), head_of(encoder)
    for pooling, of_pooling in centre.items():
        arrays |= {f"centre.{pooling}.{part}": getattr(of_pooling, part) for part in ("mean", "stretch", "weight")}
    arrays |= {f"head.{part}": weight for part, weight in (head._asdict() if head is not None else {}).items()}
    settings = {
        "of": (source, digest, vectors_digest(encoder), encoder.max_seq_length, tokens_read(encoder)),
        "how": (
            encoder.prompts.get(encoder.default_prompt_name or "", ""),
            config.num_attention_heads,
            config.num_hidden_layers,
            config.layer_norm_eps,
            type(encoder[-1]).__name__ == "Normalize",
        ),
        "centre": list(centre),
    }
    tokenizer = encoder.tokenizer.backend_tokenizer.to_str()
    contiguous = {name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()}
    return save(contiguous, {"settings": json.dumps(settings), "tokenizer": tokenizer})


def _agree(quick: QuickEncoder, encoder: SentenceTransformer) -> bool:
    mine, own = quick.encode(_PROBES), encode_messages(encoder, _PROBES)
    return mine.shape == own.shape and bool(np.abs(unit_vectors(mine) - unit_vectors(own)).max() <= _CLOSE)


def _folder() -> Path:
    return datasets_cache() / "turnlens-queries"


def _places(name: str | os.PathLike[str] | None) -> list[Path]:
    """Return the folders from which an encoder is loaded, by any of its names."""
    return [place.resolve() for place in places_of(name)]


def _state(file: Path) -> str:
    """The ending of a file's name, so that any change to the file shows."""
    state = file.stat()
    return f"-{state.st_size:x}-{state.st_mtime_ns:x}"


def _key(name: str | os.PathLike[str] | None) -> str:
    """A hash of the state of all files that an encoder of this name is loaded from, and of what loads it."""
    files = [file for place in _places(name) for file in sorted(place.rglob("*")) if file.is_file()]
    files.append(Path(quick_file.__file__))
    states = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    known = repr((states, [version(package) for package in _LOADED_BY]))
    return hashlib.blake2b(known.encode(), digest_size=10).hexdigest()
