"""The centre of an encoder's dialogue vectors, kept in a small file beside a stock encoder.

All conversations of a corpus have much in common, and so have their vectors. The mean of these vectors is subtracted
from each, so that cosines show what is particular to a conversation. What is left may be stretched a little along the
directions in which conversations differ most, because these come from their topics more than from chance (the reverse
of whitening). Where dialogues are pooled from messages, the weight of each message may be learned. The vectors of
single messages stay as they are.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file
from sentence_transformers import SentenceTransformer

from turnwise._utils.vectors import FloatArray, unit_vectors
from turnwise.encoders.folders import first_file

CENTRE_FILE = "centre.safetensors"
_CENTRE_FILES = (CENTRE_FILE, "dialogue_centre.safetensors")  # the second is that of turnwise 0.1.0
_ATTRIBUTE = "dialogue_centre"
_PARTS = ("mean", "stretch", "weight")


@dataclass(frozen=True, eq=False)
class Centre:
    """The transformation of the vectors of whole conversations that were pooled in one way.

    Attributes:
        mean: Subtracted from each vector, which has length 1 (dim,).
        stretch: The matrix that the rest is multiplied by (dim, dim).
        weight: Used only where messages are pooled: the inner product of this vector with the vector of a message is
            the logarithm of the weight of that message's tokens. Zero where all tokens count alike (dim,).
    """

    mean: FloatArray
    stretch: FloatArray
    weight: FloatArray

    @classmethod
    def fit(cls, vectors: FloatArray, stretch: float) -> Centre:
        """The centre of some vectors.

        Args:
            vectors: The vectors of conversations (n, dim).
            stretch: Each principal component is multiplied by this power of its variance; 0 leaves them all as they
                are.
        """
        units = unit_vectors(vectors).astype(np.float64)
        mean = units.mean(0)
        variances, components = np.linalg.eigh((units - mean).T @ (units - mean) / len(units))
        # Where there is no variance, rounding leaves a tiny or a negative one.
        variances = np.maximum(variances, 1e-9)
        matrix = (components * variances**stretch) @ components.T if stretch else np.eye(len(mean))
        return cls(mean.astype(np.float32), matrix.astype(np.float32), np.zeros(len(mean), np.float32))

    def apply(self, vectors: FloatArray) -> FloatArray:
        """Vectors of any length (n, dim) to vectors of length 1 (n, dim)."""
        return unit_vectors((unit_vectors(vectors) - self.mean) @ self.stretch).astype(vectors.dtype)


def centre_of(encoder: SentenceTransformer) -> Mapping[str, Centre]:
    """The centre for each way of pooling; empty where there is none."""
    found: Mapping[str, Centre] = encoder.__dict__.get(_ATTRIBUTE, {})
    return found


def add_centre(encoder: SentenceTransformer, centre: Mapping[str, Centre]) -> SentenceTransformer:
    """Put a centre for each way of pooling beside an encoder, in place; its own ``encode`` stays as it is.

    Raises:
        ValueError: The centre is for vectors of a different length, or not finite.
    """
    dim = encoder.get_embedding_dimension()
    for pooling, one in centre.items():
        shapes = {part: getattr(one, part).shape for part in _PARTS}
        if shapes != {"mean": (dim,), "stretch": (dim, dim), "weight": (dim,)}:
            raise ValueError(f"the centre for pooling {pooling!r} is for other vectors: {shapes}, this encoder's {dim}")
        if not all(np.isfinite(getattr(one, part)).all() for part in _PARTS):
            raise ValueError(f"the centre for pooling {pooling!r} is not finite")
    # Not registered as a module: a stock encoder runs its input through all of those.
    object.__setattr__(encoder, _ATTRIBUTE, dict(centre))
    return encoder


def remove_centre(encoder: SentenceTransformer) -> None:
    """Remove the centre, for instance before the encoder learns and its vectors change."""
    encoder.__dict__.pop(_ATTRIBUTE, None)


def centred(encoder: SentenceTransformer, vectors: FloatArray, pooling: str) -> FloatArray:
    """Vectors of whole conversations pooled in this way (n, dim), with the encoder's centre for it, if any, applied."""
    centre = centre_of(encoder).get(pooling)
    return vectors if centre is None else centre.apply(vectors)


def centre_digest(encoder: SentenceTransformer) -> str:
    """A hash of an encoder's centre; empty where there is none."""
    found = hashlib.blake2b(digest_size=10)
    for name, array in sorted(_arrays(encoder).items()):
        found.update(name.encode() + array.tobytes())
    return found.hexdigest() if centre_of(encoder) else ""


def save_centre(encoder: SentenceTransformer, folder: Path) -> None:
    """Write the encoder's centre, if it has one, into the folder of the saved encoder."""
    if centre_of(encoder):
        save_file(_arrays(encoder), folder / CENTRE_FILE)


def restore_centre(encoder: SentenceTransformer, folder: str | os.PathLike[str]) -> None:
    """Add the centre in a folder that turnwise wrote, if there is one.

    Raises:
        ValueError: The file does not hold a centre, or its centre is for vectors of a different length.
    """
    path = first_file(folder, _CENTRE_FILES)
    if path is None:
        return
    with safe_open(path, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    poolings = sorted({name.rpartition(".")[0] for name in arrays})
    if set(arrays) != {f"{pooling}.{part}" for pooling in poolings for part in _PARTS}:
        raise ValueError(f"{path}: expected tensors <pooling>.mean, .stretch and .weight, got {sorted(arrays)}")
    centre = {name: Centre(*(arrays[f"{name}.{part}"] for part in _PARTS)) for name in poolings}
    try:
        add_centre(encoder, centre)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _arrays(encoder: SentenceTransformer) -> dict[str, FloatArray]:
    return {
        f"{pooling}.{part}": np.ascontiguousarray(getattr(one, part))
        for pooling, one in centre_of(encoder).items()
        for part in _PARTS
    }
