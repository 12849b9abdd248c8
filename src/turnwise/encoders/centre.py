"""The centre of an encoder's dialogue vectors, kept in a small file beside a stock encoder.

All conversations of a corpus have much in common, as vectors too. Their mean is taken away from each, so that cosines
tell what is particular to it; the vectors of single messages stay as they are.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file
from sentence_transformers import SentenceTransformer

from turnwise._utils.vectors import FloatArray, unit_vectors

CENTRE_FILE = "dialogue_centre.safetensors"
_ATTRIBUTE = "dialogue_centre"


def centre_of(encoder: SentenceTransformer) -> Mapping[str, FloatArray]:
    """For each way of pooling the mean of whole conversations, float32 (dim,); empty where there is none."""
    found: Mapping[str, FloatArray] = encoder.__dict__.get(_ATTRIBUTE, {})
    return found


def add_centre(encoder: SentenceTransformer, centre: Mapping[str, FloatArray]) -> SentenceTransformer:
    """Put a centre beside an encoder, in place; its own ``encode`` and its weights stay as they are.

    Args:
        encoder: The encoder.
        centre: For each way of pooling the mean of vectors of length 1 (dim,).

    Raises:
        ValueError: The centre is of vectors of a different length, or not finite.
    """
    dim = encoder.get_embedding_dimension()
    for pooling, mean in centre.items():
        if mean.shape != (dim,) or not np.isfinite(mean).all():
            raise ValueError(
                f"the centre for pooling {pooling!r} must be {dim} finite numbers, as this encoder's vectors are; got "
                f"an array of shape {mean.shape}"
            )
    object.__setattr__(encoder, _ATTRIBUTE, {name: mean.astype(np.float32) for name, mean in centre.items()})
    return encoder


def remove_centre(encoder: SentenceTransformer) -> None:
    """Remove the centre, for instance before the encoder learns and its vectors change."""
    encoder.__dict__.pop(_ATTRIBUTE, None)


def centred(encoder: SentenceTransformer, vectors: FloatArray, pooling: str) -> FloatArray:
    """Dialogue vectors with the encoder's centre taken away.

    Args:
        encoder: The encoder.
        vectors: Its vectors of whole conversations (n, dim).
        pooling: How they were pooled.

    Returns:
        (n, dim) of length 1; as they were where the encoder has no centre for this pooling.
    """
    mean = centre_of(encoder).get(pooling)
    return vectors if mean is None else unit_vectors(unit_vectors(vectors) - mean).astype(vectors.dtype)


def centre_digest(encoder: SentenceTransformer) -> str:
    """A hash of an encoder's centre; empty where there is none."""
    found = hashlib.blake2b(digest_size=10)
    for pooling, mean in sorted(centre_of(encoder).items()):
        found.update(pooling.encode() + mean.tobytes())
    return found.hexdigest() if centre_of(encoder) else ""


def save_centre(encoder: SentenceTransformer, folder: Path) -> None:
    """Write the encoder's centre, if it has one, into the folder of the saved encoder."""
    if centre := centre_of(encoder):
        save_file(dict(centre), folder / CENTRE_FILE)


def restore_centre(encoder: SentenceTransformer, folder: str | os.PathLike[str]) -> None:
    """Add the centre in a folder that turnwise wrote, if there is one.

    Raises:
        ValueError: The file holds a centre of vectors of a different length.
    """
    path = Path(folder) / CENTRE_FILE
    if not path.is_file():
        return
    with safe_open(path, framework="numpy") as file:
        centre = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    try:
        add_centre(encoder, centre)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
