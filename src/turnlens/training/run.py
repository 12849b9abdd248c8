"""A run of steps: its state between two of them, and its checkpoints within one."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from datasets import Dataset
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from sentence_transformers.base.evaluation import BaseEvaluator
from torch import Tensor, nn
from transformers import Trainer
from transformers.trainer import TRAINER_STATE_NAME

from turnlens._utils.files import atomic_path, put_in_order
from turnlens._utils.processes import RunFolder, process_state
from turnlens._utils.vectors import FloatArray
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.loading import load_sentence_transformer

# The last file written to a checkpoint. A checkpoint without it is incomplete and is not used.
LOSS_FILE = "loss.safetensors"
# In its metadata: the sum of the losses since the last log line, and the step of that line.
_SUM, _LAST_LOGGED = "unlogged_loss", "last_logged_step"


def newest_unfinished(folder: Path | None) -> Path | None:
    """Return the newest complete checkpoint, but not that of the last step, from which training would go on."""
    if folder is None or not folder.is_dir():
        return None
    complete = [path for path in folder.glob("checkpoint-*") if (path / LOSS_FILE).is_file() and not _is_last(path)]
    return max(complete, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def _is_last(checkpoint: Path) -> bool:
    state = json.loads((checkpoint / TRAINER_STATE_NAME).read_text(encoding="utf-8"))
    return bool(state["global_step"] >= state["max_steps"])


def loss_parameters(trainer: Trainer) -> dict[str, nn.Parameter]:
    """Return the parameters of the loss itself, which are not part of the encoder."""
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
    """Return the sum of the losses since the last log line before a checkpoint, and the step of that line."""
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


_TASK_VECTOR = ".task_vector.safetensors"


@dataclass
class TrainingState:
    """A training between two of its steps. Steps change it, and the encoder that learns, in place.

    Attributes:
        initial: The encoder that the training starts from, which stays as it is.
        encoder: The encoder that learns.
        conversations: The conversations to learn from.
        source: What they are, for the record; a run is continued only if this is the same.
        record: Entries of ``training.json``, ready for JSON.
        evaluator: Chooses the best checkpoint; without it, the last step is taken.
        held_out: Conversations that select the interpolation.
        embedded: The training messages with their vectors, if they are known.
        vectors: Vectors of messages that later steps need, by name (messages, dim) each.
        task_vectors: Differences of weights from those of the initial encoder, by step and weight.
    """

    initial: ConversationEncoder
    encoder: ConversationEncoder
    conversations: Dataset
    source: str
    record: dict[str, Any] = field(default_factory=dict)
    evaluator: BaseEvaluator | None = None
    held_out: Dataset | None = None
    embedded: pa.Table | None = None
    vectors: dict[str, FloatArray] = field(default_factory=dict)
    task_vectors: dict[str, dict[str, Tensor]] = field(default_factory=dict)

    def save(self, folder: Path, done: list[str]) -> None:
        """Write the state, and the names of the steps that are done, over the state before."""
        with atomic_path(folder) as temporary:
            self.encoder.save_pretrained(str(temporary), create_model_card=False)
            np.savez(temporary / "vectors.npz", **self.vectors)  # type: ignore[arg-type]
            for step, weights in self.task_vectors.items():
                save_file(weights, temporary / f"{step}{_TASK_VECTOR}")
            kept = {"done": done, "record": self.record}
            (temporary / "state.json").write_text(json.dumps(kept), encoding="utf-8")

    def restore(self, folder: Path) -> None:
        """Load a saved state."""
        self.encoder = load_sentence_transformer(folder, device=str(self.encoder.device))
        self.encoder.source = self.initial.source
        with np.load(folder / "vectors.npz") as vectors:
            self.vectors = dict(vectors)
        for path in folder.glob(f"*{_TASK_VECTOR}"):
            self.task_vectors[path.name.removesuffix(_TASK_VECTOR)] = load_file(path, device=str(self.encoder.device))
        self.record = json.loads((folder / "state.json").read_text(encoding="utf-8"))["record"]


def count_messages(conversations: Dataset | None) -> int:
    """Count the messages of conversations, where there are any."""
    if conversations is None or "messages" not in conversations.column_names:
        return 0
    return sum(map(len, conversations["messages"]))


class Run:
    """The steps of a training that are done, and where those that are not keep their unfinished work.

    Attributes:
        snapshots: A folder for models kept during training; ``None`` if the run keeps nothing.
    """

    def __init__(self, run: RunFolder | None) -> None:
        self._folder: Path | None = None if run is None else run.folder
        self.snapshots: Path | None = None if run is None else run.snapshots
        self._done: list[str] = []
        if self._folder is not None:
            put_in_order(self._folder / "state")
            if (state := self._folder / "state" / "state.json").is_file():
                self._done = json.loads(state.read_text(encoding="utf-8"))["done"]

    @classmethod
    @contextmanager
    def open(
        cls, output: str | os.PathLike[str] | None, settings: dict[str, Any], resume: bool, force: bool
    ) -> Iterator[Run]:
        """See `RunFolder.open`. Without an output, nothing is kept; else the folder is removed after the block."""
        if output is None:
            yield cls(None)
            return
        with RunFolder.open(output, settings, resume, force) as folder:
            yield cls(folder)
            folder.close()

    def once(self, step: Step, state: TrainingState) -> TrainingState:
        """Take a step unless it is already done, and return the state after it."""
        if not self.has_done(step):
            step(state, self)
            self._done.append(step.name)
            if self._folder is not None and process_state().is_main_process:
                state.save(self._folder / "state", self._done)
        elif self._folder is not None and step.name == self._done[-1]:
            state.restore(self._folder / "state")
        return state

    def has_done(self, step: Step) -> bool:
        """Return true for a step that is not taken again."""
        return step.name in self._done

    def unfinished(self, name: str) -> Path | None:
        """Return a path for the unfinished work of a step; ``None`` if the run keeps nothing."""
        return None if self._folder is None else self._folder / name


class Step(ABC):
    """A step of a training.

    Attributes:
        name: By which a run knows that the step is done, and the name of its unfinished work.
    """

    name: str

    def work(self, state: TrainingState) -> float:
        """Estimate the work of this step, in messages that could be embedded meanwhile."""
        return 0.2 * count_messages(state.conversations)

    @abstractmethod
    def __call__(self, state: TrainingState, run: Run) -> None:
        """Take the step: change the state in place."""
