"""Callbacks between training steps: progress, clean stopping, evaluation, keeping the loss's own weights."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState
from typing_extensions import override

from turnlens._compat import restore_unlogged_loss, unlogged_loss
from turnlens._utils.files import atomic_path
from turnlens._utils.processes import give_back_memory, on_signals
from turnlens._utils.progress import note, progress_bar, shows_progress
from turnlens.training.run import save_loss


class GracefulStop(TrainerCallback):
    """On Ctrl-C or SIGTERM, finish the step in progress and write a checkpoint; on a second signal, stop at once.

    A step that is validated is finished with its validation, so that a resumed run keeps the same best step.
    """

    def __init__(self) -> None:
        self._signal: int | None = None

    @contextmanager
    def catching_signals(self) -> Iterator[None]:
        """Inside the block, both signals wait for the end of the step in progress; then the exception is raised.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
            SystemExit: SIGTERM was received, which clusters send before they kill a process.
        """
        with on_signals(self._stop, signal.SIGINT, signal.SIGTERM):
            yield
        self._raise(self._signal)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self._signal is not None:
            self._raise(number)
        self._signal = number
        with suppress(OSError):  # not through the console, which may be at work
            os.write(2, b"\nStopping when this step is finished, with its validation if it has one; again: at once.\n")

    @staticmethod
    def _raise(number: int | None) -> None:
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        if number is not None:
            raise SystemExit(128 + number)

    @override
    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if self._signal is not None:
            control.should_save = args.save_strategy != "no"
            control.should_training_stop = True

    @override
    def on_evaluate(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        self.on_step_end(args, state, control)


class LossState(TrainerCallback):
    """Keeps what the trainer leaves out of checkpoints: the loss's own parameters, and its sum since the last log line.

    The trainer does not average the gradients of these parameters over processes either, so that is done here.

    Args:
        trainer: The trainer.
        parameters: The loss's own parameters.
        unlogged: When a run is continued, the sum of the losses since the last log line, and the step of that line.
    """

    def __init__(
        self, trainer: Trainer, parameters: dict[str, nn.Parameter], unlogged: tuple[float, int] | None = None
    ) -> None:
        self.trainer = trainer
        self.parameters = parameters
        self.unlogged = unlogged

    @override
    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if self.unlogged is not None:
            restore_unlogged_loss(self.trainer, *self.unlogged)

    @override
    def on_pre_optimizer_step(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if dist.is_initialized() and dist.get_world_size() > 1:
            for parameter in self.parameters.values():
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                dist.all_reduce(parameter.grad)
                parameter.grad /= dist.get_world_size()

    @override
    def on_save(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        unlogged = unlogged_loss(self.trainer)
        if unlogged is not None and dist.is_initialized():  # a log line shows the mean over processes
            dist.all_reduce(total := unlogged[0].clone())
            unlogged = (total / dist.get_world_size(), unlogged[1])
        if state.is_world_process_zero:
            checkpoint = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            kept = (unlogged[0].item(), unlogged[1]) if unlogged is not None else None
            save_loss(checkpoint, self.parameters, kept)


class Upkeep(TrainerCallback):
    """Tells a collator the epoch, gives memory back, and completes the last step.

    The epoch is told before batches are requested, so that the workers started for them know it, too. After the last
    step, the loss is logged and, where the best step is kept, evaluated, even if neither is due. Batches differ in
    length, so that the C library finds room in little of what they have freed, and would grow with every step.
    """

    def __init__(self, set_epoch: Callable[[int], None] | None) -> None:
        self._set_epoch = set_epoch
        self._last = 0.0

    @override
    def on_epoch_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if self._set_epoch is not None:
            self._set_epoch(int((state.epoch or 0) + 1e-6))

    @override
    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if state.global_step >= state.max_steps:
            control.should_log = True
            control.should_evaluate |= args.load_best_model_at_end
        if time.monotonic() - self._last > 1:
            give_back_memory()
            self._last = time.monotonic()


class Snapshots(TrainerCallback):
    """Keeps a model every ``every`` steps, each in a folder such as ``step-00030``."""

    def __init__(self, folder: Path, every: int) -> None:
        self.folder = folder
        self.every = every

    @override
    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if state.global_step % self.every == 0 and state.is_world_process_zero:
            with atomic_path(self.folder / f"step-{state.global_step:05}") as temporary:
                kwargs["model"].save_pretrained(str(temporary), create_model_card=False)


class TrainingProgress(TrainerCallback):
    """Shows the steps done, the time left and the last loss of a stage."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self.bar = progress_bar()

    @override
    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            self.bar.start()
        self.task = self.bar.add_task(self.stage, total=state.max_steps, completed=state.global_step)

    @override
    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        self.bar.update(self.task, completed=state.global_step)

    @override
    def on_log(self, args: Any, state: TrainerState, control: TrainerControl, logs: Any = None, **kwargs: Any) -> None:
        if logs and "loss" in logs:
            if not math.isfinite(float(logs["loss"])):
                raise ValueError(f"training has diverged at step {state.global_step}: use a lower learning rate")
            loss = f"loss {float(logs['loss']):.3f}"
            self.bar.update(self.task, description=f"{self.stage} ({loss})")
            self._print(state, loss)
        best = args.metric_for_best_model
        if logs and best in logs:
            self._print(state, f"{best.removeprefix('eval_').replace('_', ' ')} {logs[best]:.2f}", always=True)

    def _print(self, state: TrainerState, figure: str, always: bool = False) -> None:
        """Print a line above the bar or, if there is no terminal to show a bar on, into the log."""
        if not (state.is_world_process_zero and (always or not shows_progress())):
            return
        line = f"{self.stage}: step {state.global_step}/{state.max_steps}, {figure}"
        if self.bar.disable:
            note(line)
        else:
            self.bar.console.print(line, highlight=False)
