"""Checkpoints of a training run, and which of the loss's parameters belong in them."""

from __future__ import annotations

from pathlib import Path

from safetensors.torch import load_file
from torch import nn
from transformers import Trainer

# The last file written to a checkpoint: one without it was cut off and is not used.
LOSS_FILE = "loss.safetensors"


def newest_complete(folder: Path | None) -> Path | None:
    """The newest checkpoint whose last file was written."""
    if folder is None or not folder.is_dir():
        return None
    complete = [path for path in folder.glob("checkpoint-*") if (path / LOSS_FILE).is_file()]
    return max(complete, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def loss_parameters(trainer: Trainer) -> dict[str, nn.Parameter]:
    """The parameters of the loss itself, which are not part of the encoder."""
    loss = getattr(trainer, "loss", None)
    if not isinstance(loss, nn.Module):
        return {}
    return {name: p for name, p in loss.named_parameters() if not name.startswith("model.")}


def load_loss(trainer: Trainer, checkpoint: Path) -> None:
    """Put the loss's own parameters back that were written with a checkpoint."""
    parameters = loss_parameters(trainer)
    for name, tensor in load_file(checkpoint / LOSS_FILE).items():
        parameters[name].data.copy_(tensor)
