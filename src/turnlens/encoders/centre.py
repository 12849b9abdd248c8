"""The centre of an encoder's conversation vectors, kept in a small file beside a stock encoder.

All conversations of a corpus have much in common, and so have their vectors. The mean of these vectors is subtracted
from each, so that cosines show what is particular to a conversation. What is left may be stretched a little along the
directions in which conversations differ most, because these come from their topics more than from chance (the reverse
of whitening). Where conversations are pooled from messages, the weight of each message may be learned. The vectors of
single messages stay as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from turnlens._utils.vectors import FloatArray, unit_vectors

CENTRE_FILE = "centre.safetensors"
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


def check_centre(centre: Mapping[str, Centre], dim: int | None) -> None:
    """Raise ``ValueError`` if a centre is for vectors of a different length than this, or is not finite."""
    for pooling, of_pooling in centre.items():
        shapes = {part: getattr(of_pooling, part).shape for part in _PARTS}
        if shapes != {"mean": (dim,), "stretch": (dim, dim), "weight": (dim,)}:
            raise ValueError(f"the centre for pooling {pooling!r} is for other vectors: {shapes}, this encoder's {dim}")
        if not all(np.isfinite(getattr(of_pooling, part)).all() for part in _PARTS):
            raise ValueError(f"the centre for pooling {pooling!r} is not finite")


def centre_digest(centre: Mapping[str, Centre]) -> str:
    """A hash of the centre for each way of pooling; empty where there is none."""
    digest = hashlib.blake2b(digest_size=10)
    for name, array in sorted(_arrays(centre).items()):
        digest.update(name.encode() + array.tobytes())
    return digest.hexdigest() if centre else ""


def write_centre(centre: Mapping[str, Centre], path: Path) -> None:
    """Write the centre for each way of pooling into a file."""
    save_file(_arrays(centre), path)


def read_centre(path: Path) -> dict[str, Centre]:
    """The centre for each way of pooling in a file.

    Raises:
        ValueError: The file does not hold a centre.
    """
    arrays = load_file(path)
    poolings = sorted({name.rpartition(".")[0] for name in arrays})
    if set(arrays) != {f"{pooling}.{part}" for pooling in poolings for part in _PARTS}:
        raise ValueError(f"{path}: expected tensors <pooling>.mean, .stretch and .weight, got {sorted(arrays)}")
    return {name: Centre(*(arrays[f"{name}.{part}"] for part in _PARTS)) for name in poolings}


def _arrays(centre: Mapping[str, Centre]) -> dict[str, FloatArray]:
    return {
        f"{pooling}.{part}": np.ascontiguousarray(getattr(of_pooling, part))
        for pooling, of_pooling in centre.items()
        for part in _PARTS
    }
