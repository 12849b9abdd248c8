"""Checkpoints of a training run, and which of the loss's parameters belong in them."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import Trainer
from transformers.trainer import TRAINER_STATE_NAME

from turnlens._utils.files import atomic_path

# The last file written to a checkpoint. A checkpoint without it is incomplete and is not used.
LOSS_FILE = "loss.safetensors"
# In its metadata: the sum of the losses since the last log line, and the step of that line.
_SUM, _LAST_LOGGED = "unlogged_loss", "last_logged_step"


def newest_unfinished(folder: Path | None) -> Path | None:
    """The newest complete checkpoint, except that of the last step, from which the library would train further."""
    if folder is None or not folder.is_dir():
        return None
    complete = [path for path in folder.glob("checkpoint-*") if (path / LOSS_FILE).is_file() and not _is_last(path)]
    return max(complete, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def _is_last(checkpoint: Path) -> bool:
    state = json.loads((checkpoint / TRAINER_STATE_NAME).read_text(encoding="utf-8"))
    return bool(state["global_step"] >= state["max_steps"])


def loss_parameters(trainer: Trainer) -> dict[str, nn.Parameter]:
    """The parameters of the loss itself, which are not part of the encoder."""
    loss = getattr(trainer, "loss", None)
    if not isinstance(loss, nn.Module):
        return {}
    return {name: p for name, p in loss.named_parameters() if not name.startswith("model.")}


def save_loss(checkpoint: Path, parameters: dict[str, nn.Parameter], unlogged: tuple[float, int] | None) -> None:
    """Write the loss's own parameters and the sum of losses that has not been logged yet."""
    weights = {name: weight.detach().cpu() for name, weight in parameters.items()}
    metadata = {_SUM: repr(unlogged[0]), _LAST_LOGGED: str(unlogged[1])} if unlogged is not None else None
    with atomic_path(checkpoint / LOSS_FILE) as temporary:
        save_file(weights, temporary, metadata)


def unlogged_loss_of(checkpoint: Path | None) -> tuple[float, int] | None:
    """The sum of the losses since the last log line before a checkpoint, and the step of that line."""
    if checkpoint is None:
        return None
    with safe_open(checkpoint / LOSS_FILE, framework="pt") as file:
        kept = file.metadata() or {}
    return (float(kept[_SUM]), int(kept[_LAST_LOGGED])) if _SUM in kept else None


def load_loss(trainer: Trainer, checkpoint: Path) -> None:
    """Restore the loss's own parameters that were written with a checkpoint."""
    parameters = loss_parameters(trainer)
    for name, tensor in load_file(checkpoint / LOSS_FILE).items():
        parameters[name].data.copy_(tensor)
