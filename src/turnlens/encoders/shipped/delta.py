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

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from turnlens.encoders.folders import SHIPPED
from turnlens.encoders.transformer import transformer_of

DELTA_FILE = "delta.safetensors"
CHECKSUM_FILE = "delta.safetensors.sha256"  # as `sha256sum` writes it
_LEFT, _RIGHT, _SCALE = ".left", ".right", ".scale"
_LARGEST = 127  # of eight bits with a sign


def apply_delta(encoder: SentenceTransformer, folder: str | os.PathLike[str] | None = None) -> SentenceTransformer:
    """Add to an encoder, in place, what the encoder that ships has learned.

    Args:
        encoder: The encoder with the published weights that the difference was taken from.
        folder: The folder of another difference, as `save_delta` writes it; ``None`` is the one in this package.

    Returns:
        The encoder.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is not the one that its checksum names, or the encoder does not have the weights that the
            difference was taken from.
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
        with safe_open(delta, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
            base = file.metadata()["base"]
    except (SafetensorError, KeyError, TypeError) as error:
        raise ValueError(f"{delta}: expected the difference of an encoder's weights: {error}") from error
    differences, weights = restored(tensors), transformer_of(encoder).state_dict()
    checksum = weights_checksum({name: weights[name] for name in differences if name in weights})
    if checksum != base:
        raise ValueError(
            f"what was learned fits other weights than this encoder's: their checksum is {checksum}, expected {base}; "
            "give the published encoder as it was before any training"
        )
    with torch.no_grad():
        for name, difference in differences.items():
            weights[name].add_(difference.to(weights[name]))
    return encoder


def save_delta(folder: Path, base: nn.Module, learned: Mapping[str, Tensor], largest: int) -> str:
    """Write the difference of weights with its checksum, and return that.

    Args:
        folder: The folder to write both files to.
        base: The transformer with the weights before training.
        learned: The difference by the names of weights, matrices (out, in) and vectors (out,).
        largest: About how many bytes the matrices may take.
    """
    tensors = compressed(learned, largest)
    weights = base.state_dict()
    save_file(tensors, folder / DELTA_FILE, {"base": weights_checksum({name: weights[name] for name in learned})})
    checksum = file_checksum(folder / DELTA_FILE)
    (folder / CHECKSUM_FILE).write_text(f"{checksum}  {DELTA_FILE}\n", encoding="utf-8")
    return checksum


def compressed(learned: Mapping[str, Tensor], largest: int) -> dict[str, Tensor]:
    """Differences of weights in about so many bytes; arguments as for `save_delta`."""
    tensors = {name: difference.half() for name, difference in learned.items() if difference.ndim == 1}
    parts = {
        name: torch.linalg.svd(difference.double(), full_matrices=False)
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
        tensors[name + _SCALE] = (sizes[:count] * left_scale * right_scale).float()
    return tensors


def restored(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The differences of weights by their names, float32, from what `compressed` gives.

    In float64, no product or sum of these few bits is rounded, so the weights are the same to the bit on any processor,
    and so is their hash in stores.
    """
    differences = {}
    for name, tensor in tensors.items():
        if name.endswith(_SCALE):
            weight = name.removesuffix(_SCALE)
            left, right = tensors[weight + _LEFT].double(), tensors[weight + _RIGHT].double()
            differences[weight] = ((left.T * tensor.double()) @ right).float()  # (out, in)
        elif not name.endswith((_LEFT, _RIGHT)):
            differences[name] = tensor.float()
    return differences


def file_checksum(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def weights_checksum(weights: Mapping[str, Tensor]) -> str:
    """A SHA-256 of the names and values of weights."""
    checksum = hashlib.sha256()
    for name, weight in sorted(weights.items()):
        checksum.update(name.encode())
        checksum.update(weight.detach().cpu().float().contiguous().numpy().data)
    return checksum.hexdigest()


def _eight_bits(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Rows (n, dim) as whole numbers of eight bits, and what each row of them is to be multiplied by (n,)."""
    scale = rows.abs().amax(1) / _LARGEST
    return (rows / scale[:, None]).round().to(torch.int8).contiguous(), scale
