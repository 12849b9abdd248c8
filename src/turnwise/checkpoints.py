"""Stopping and continuing a training run: nothing that is finished is lost, nothing is done twice."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from safetensors.torch import load_file
from torch import nn
from transformers import PrinterCallback, Trainer

from turnwise.callbacks import HEAD_FILE, Keeper, TrainingProgress
from turnwise.files import atomic_path

_RECORD = "run.json"


def process_state() -> PartialState:
    """Which process this is among those that ``torchrun`` started; on its own, the main one."""
    # Without an accelerator it has to be told so, or each process takes itself for the only one.
    return PartialState(cpu=not torch.accelerator.is_available())


@dataclass(frozen=True)
class Run:
    """The folder ``<output>.run``, where a run keeps its checkpoints until its model is written to ``<output>``."""

    folder: Path

    @classmethod
    def open(cls, output: str | os.PathLike[str], settings: dict[str, Any], resume: bool, force: bool) -> Run:
        """Start a run, or continue the one that was cut off.

        As a context, it forgets a run that failed before it had anything to keep.

        Args:
            output: Where the result will be written; checked before.
            settings: Everything that determines the result; must be the same when continuing. JSON values.
            resume: Continue if an unfinished run is there.
            force: Overwrite the model and forget an unfinished run.

        Raises:
            FileExistsError: An unfinished run or snapshots of this output exist, and no flag allows it.
            ValueError: The unfinished run was started with other settings, or its record is damaged.
        """
        output = Path(output)
        run = cls(output.with_name(output.name + ".run"))
        state = process_state()
        if state.is_main_process:
            run._prepare(json.loads(json.dumps(settings)), resume, force)
        state.wait_for_everyone()
        return run

    @property
    def snapshots(self) -> Path:
        """Where models are kept on the way; they outlast the run."""
        return self.folder.with_suffix(".snapshots")

    def _prepare(self, settings: dict[str, Any], resume: bool, force: bool) -> None:
        record = self.folder / _RECORD
        if record.is_file() and resume:
            try:
                before = json.loads(record.read_text(encoding="utf-8"))
            except ValueError as error:
                raise ValueError(f"{record} is damaged, start over with --force: {error}") from error
            if differences := "; ".join(_differences(before, settings)):
                raise ValueError(
                    f"{self.folder} was started with other settings, start over with --force ({differences})"
                )
            return
        if record.is_file() and not force:
            raise FileExistsError(
                f"{self.folder} holds an unfinished run: continue it with --resume or start over with --force"
            )
        for folder in (self.folder, self.snapshots):
            if folder.exists() and not force:
                raise FileExistsError(f"{folder} exists already: choose another output or delete it with --force")
            shutil.rmtree(folder, ignore_errors=True)
        with atomic_path(record) as temporary:
            temporary.write_text(json.dumps(settings, indent=2), encoding="utf-8")

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self.folder.is_dir() and [path.name for path in self.folder.iterdir()] == [_RECORD]:
            self.close()

    def close(self) -> None:
        """Forget the checkpoints; the model is written."""
        if process_state().is_main_process:
            shutil.rmtree(self.folder, ignore_errors=True)


def _differences(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """What differs between two settings, innermost names only."""
    for key in sorted(before.keys() | now.keys()):
        old, new = before.get(key), now.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from (f"{key}.{difference}" for difference in _differences(old, new))
        elif old != new:
            yield f"{key}: was {old}, is {new}"


def fit(trainer: Trainer, checkpoints: Path | None) -> None:
    """Train, continuing from the newest complete checkpoint in ``checkpoints`` if there is one.

    On Ctrl-C the step in progress is finished and a checkpoint written, then ``KeyboardInterrupt`` is raised.
    """
    head = _head(trainer)
    keeper = Keeper(head, getattr(trainer.data_collator, "set_epoch", None))
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(keeper)
    progress = TrainingProgress()
    trainer.add_callback(progress)
    newest = _newest_complete(checkpoints)
    if newest is not None:
        for name, tensor in load_file(newest / HEAD_FILE).items():
            head[name].data.copy_(tensor)
    try:
        with keeper.catching_interrupts():
            trainer.train(resume_from_checkpoint=str(newest) if newest is not None else None)
    finally:
        progress.bar.stop()
    if keeper.interrupted:
        raise KeyboardInterrupt


def _newest_complete(folder: Path | None) -> Path | None:
    """The newest checkpoint whose last file was written."""
    if folder is None or not folder.is_dir():
        return None
    complete = [path for path in folder.glob("checkpoint-*") if (path / HEAD_FILE).is_file()]
    return max(complete, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def _head(trainer: Trainer) -> dict[str, nn.Parameter]:
    """The parameters of the loss itself, which are not part of the encoder."""
    loss = getattr(trainer, "loss", None)
    if not isinstance(loss, nn.Module):
        return {}
    return {name: p for name, p in loss.named_parameters() if not name.startswith("model.")}
