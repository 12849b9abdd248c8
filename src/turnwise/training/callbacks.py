"""Beside the steps of a training run: showing progress, stopping in good order, keeping the loss's own weights."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch import nn
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from turnwise._utils.files import atomic_path
from turnwise._utils.progress import progress_bar

# The last file written to a checkpoint: one without it was cut off and is not used.
HEAD_FILE = "loss.safetensors"


class Keeper(TrainerCallback):
    """What the trainer leaves out: the loss's own parameters, and stopping in good order."""

    def __init__(self, head: dict[str, nn.Parameter], set_epoch: Callable[[int], None] | None = None) -> None:
        self.head = head
        self.set_epoch = set_epoch
        self.interrupted = False

    @contextmanager
    def catching_interrupts(self) -> Iterator[None]:
        """Inside the block, Ctrl-C waits for the end of the step in progress."""
        try:
            previous = signal.signal(signal.SIGINT, self._interrupt)
        except ValueError:  # not in the main thread: Python delivers Ctrl-C elsewhere
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        # Before the batches of the epoch are asked for, so that workers started for them know it too.
        if self.set_epoch is not None:
            self.set_epoch(int((state.epoch or 0) + 1e-6))

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:  # pressed again: do not wait for the step
            raise KeyboardInterrupt
        self.interrupted = True

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        # Distributed trainers average the gradients of the encoder only.
        if dist.is_initialized() and dist.get_world_size() > 1:
            for parameter in self.head.values():
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                dist.all_reduce(parameter.grad)
                parameter.grad /= dist.get_world_size()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if self.interrupted:
            control.should_save = args.save_strategy != "no"
            control.should_training_stop = True

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            with atomic_path(folder / HEAD_FILE) as temporary:
                save_file({name: parameter.detach().cpu() for name, parameter in self.head.items()}, temporary)


class Snapshots(TrainerCallback):
    """Keeps a model every so many steps, in a folder ``step-00030`` each."""

    def __init__(self, folder: Path, every: int) -> None:
        self.folder = folder
        self.every = every

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if state.global_step % self.every == 0 and state.is_world_process_zero:
            with atomic_path(self.folder / f"step-{state.global_step:05}") as temporary:
                kwargs["model"].save_pretrained(str(temporary), create_model_card=False)


class TrainingProgress(TrainerCallback):
    """Steps done, time left and the last loss."""

    def __init__(self) -> None:
        self.bar = progress_bar()

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if state.is_world_process_zero:
            self.bar.start()
        self.task = self.bar.add_task("training", total=state.max_steps, completed=state.global_step)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        self.bar.update(self.task, completed=state.global_step)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **kwargs: Any,
    ) -> None:
        if logs and "loss" in logs:
            if not math.isfinite(float(logs["loss"])):
                raise ValueError(f"training has diverged at step {state.global_step}: take a lower learning rate")
            loss = f"loss {float(logs['loss']):.3f}"
            self.bar.update(self.task, description=f"training ({loss})")
            if self.bar.disable and state.is_world_process_zero:  # no terminal: a line in the log instead
                self.bar.console.print(f"step {state.global_step}/{state.max_steps}, {loss}", highlight=False)
