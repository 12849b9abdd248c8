"""The learning of an encoder as a file of a few megabytes: the difference of its weights from those it started from.

The difference D of a matrix is kept as the largest components of its singular value decomposition, in eight bits:

    D ≈ Σ_i scale_i · left_i ⊗ right_i,        left_i and right_i whole numbers from −127 to 127

How many components each matrix gets follows from their size: of all components of all matrices, those are kept that
take away most of the squared error for each byte. Differences of vectors, such as biases, are kept whole, as float16.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from turnlens._utils.vectors import FloatArray
from turnlens.encoders.folders import SHIPPED
from turnlens.encoders.weight_check import file_checksum

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

DELTA_FILE = "delta.safetensors"
CHECKSUM_FILE = "delta.safetensors.sha256"  # as `sha256sum` writes it
_LEFT, _RIGHT, _SCALE = ".left", ".right", ".scale"
_LARGEST = 127  # of eight bits with a sign


def apply_delta(encoder: SentenceTransformer, folder: str | os.PathLike[str] | None = None) -> SentenceTransformer:
    """Add to an encoder, in place, what the encoder that ships has learned; for others, see `learned_weights`.

    Args:
        encoder: The encoder with the published weights that the difference was taken from.
        folder: See `learned_weights`.

    Returns:
        The encoder.
    """
    import torch

    from turnlens.encoders.transformer import state_arrays, transformer_of

    transformer = transformer_of(encoder)
    weights = transformer.state_dict()
    with torch.no_grad():
        for name, weight in learned_weights(state_arrays(transformer), folder).items():
            weights[name].copy_(torch.from_numpy(weight))
    return encoder


def learned_weights(
    weights: Mapping[str, FloatArray], folder: str | os.PathLike[str] | None = None
) -> dict[str, FloatArray]:
    """The weights of an encoder that what the encoder that ships has learned changes, with it.

    Args:
        weights: The published weights that the difference was taken from, by their names in the transformer.
        folder: The folder of another difference, as `save_delta` writes it; ``None`` is the one in this package.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is not the one that its checksum names, or these are not the weights that the difference
            was taken from.
    """
    path = SHIPPED if folder is None else Path(folder)
    delta = path / DELTA_FILE
    expected, checksum = (path / CHECKSUM_FILE).read_text(encoding="utf-8").split()[0], file_checksum(delta)
    if checksum != expected:
        raise ValueError(
            f"{delta} is damaged: its SHA-256 is {checksum}, expected {expected} as in {CHECKSUM_FILE}; install "
            "turnlens again"
        )
    try:
        with safe_open(delta, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
            base = file.metadata()["base"]
    except (SafetensorError, KeyError, TypeError) as error:
        raise ValueError(f"{delta}: expected the difference of an encoder's weights: {error}") from error
    differences = restored(tensors)
    checksum = weights_checksum({name: weights[name] for name in differences if name in weights})
    if checksum != base:
        raise ValueError(
            f"what was learned fits other weights than this encoder's: their checksum is {checksum}, expected {base}; "
            "give the published encoder as it was before any training"
        )
    return {name: weights[name] + difference for name, difference in differences.items()}


def save_delta(folder: Path, base: Mapping[str, FloatArray], learned: Mapping[str, FloatArray], largest: int) -> str:
    """Write the difference of weights with its checksum, and return that.

    Args:
        folder: The folder to write both files to.
        base: The weights of the transformer before training.
        learned: The difference by the names of weights, matrices (out, in) and vectors (out,).
        largest: About how many bytes the matrices may take.
    """
    save_file(
        compressed(learned, largest),
        folder / DELTA_FILE,
        {"base": weights_checksum({name: base[name] for name in learned})},
    )
    checksum = file_checksum(folder / DELTA_FILE)
    (folder / CHECKSUM_FILE).write_text(f"{checksum}  {DELTA_FILE}\n", encoding="utf-8")
    return checksum


def compressed(learned: Mapping[str, FloatArray], largest: int) -> dict[str, np.ndarray]:
    """Differences of weights in about so many bytes; arguments as for `save_delta`."""
    tensors = {name: difference.astype(np.float16) for name, difference in learned.items() if difference.ndim == 1}
    parts = {
        name: np.linalg.svd(difference.astype(np.float64), full_matrices=False)
        for name, difference in learned.items()
        if difference.ndim == 2
    }
    costs = {name: sum(learned[name].shape) + 4 for name in parts}  # bytes of a component, with its scale
    worth = [(float(size**2) / costs[name], name) for name, (_, sizes, _) in sorted(parts.items()) for size in sizes]
    counts = dict.fromkeys(parts, 0)
    for _, name in sorted(worth, reverse=True):
        largest -= costs[name]
        if largest < 0:
            break
        counts[name] += 1
    for name, count in counts.items():
        left, sizes, right = parts[name]
        left, left_scale = _eight_bits(left[:, :count].T)  # (components, out)
        right, right_scale = _eight_bits(right[:count])  # (components, in)
        tensors[name + _LEFT], tensors[name + _RIGHT] = left, right
        tensors[name + _SCALE] = (sizes[:count] * left_scale * right_scale).astype(np.float32)
    return tensors


def restored(tensors: Mapping[str, np.ndarray]) -> dict[str, FloatArray]:
    """The differences of weights by their names, float32, from what `compressed` gives.

    In float64, no product or sum of these few bits is rounded, so the weights are the same to the bit on any processor,
    and so is their hash in stores.
    """
    differences: dict[str, FloatArray] = {}
    for name, tensor in tensors.items():
        if name.endswith(_SCALE):
            weight = name.removesuffix(_SCALE)
            left, right = (tensors[weight + side].astype(np.float64) for side in (_LEFT, _RIGHT))
            differences[weight] = ((left.T * tensor.astype(np.float64)) @ right).astype(np.float32)  # (out, in)
        elif not name.endswith((_LEFT, _RIGHT)):
            differences[name] = tensor.astype(np.float32)
    return differences


def weights_checksum(weights: Mapping[str, FloatArray]) -> str:
    """A SHA-256 of the names and values of weights."""
    checksum = hashlib.sha256()
    for name, weight in sorted(weights.items()):
        checksum.update(name.encode())
        checksum.update(np.ascontiguousarray(weight, np.float32).data)
    return checksum.hexdigest()


def _eight_bits(rows: FloatArray) -> tuple[np.ndarray, FloatArray]:
    """Rows (n, dim) as whole numbers of eight bits, and what each row of them is to be multiplied by (n,)."""
    scale = np.abs(rows).max(1, initial=0) / _LARGEST
    return np.ascontiguousarray((rows / scale[:, None]).round().astype(np.int8)), scale
