"""What goes on beside the training steps: progress, clean stopping, evaluation, keeping the loss's own weights."""

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
from typing_extensions import override

from turnwise._utils.files import atomic_path
from turnwise._utils.progress import note, progress_bar
from turnwise.training.checkpoints import LOSS_FILE


class StopInGoodOrder(TrainerCallback):
    """On Ctrl-C, finish the step in progress and write a checkpoint; if pressed again, stop at once."""

    def __init__(self) -> None:
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

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True

    @override
    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if self.interrupted:
            control.should_save = args.save_strategy != "no"
            control.should_training_stop = True


class LossWeights(TrainerCallback):
    """The loss's own parameters, which the trainer leaves out of checkpoints and of averages over processes."""

    def __init__(self, parameters: dict[str, nn.Parameter]) -> None:
        self.parameters = parameters

    @override
    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if dist.is_initialized() and dist.get_world_size() > 1:
            for parameter in self.parameters.values():
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                dist.all_reduce(parameter.grad)
                parameter.grad /= dist.get_world_size()

    @override
    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            with atomic_path(folder / LOSS_FILE) as temporary:
                save_file({name: weight.detach().cpu() for name, weight in self.parameters.items()}, temporary)


class TellEpoch(TrainerCallback):
    """Tells a collator the epoch before its batches are asked for, so that workers started for them know it too."""

    def __init__(self, set_epoch: Callable[[int], None]) -> None:
        self.set_epoch = set_epoch

    @override
    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.set_epoch(int((state.epoch or 0) + 1e-6))


class EvaluateLastStep(TrainerCallback):
    """Evaluates the last step too, whether or not a checkpoint is due; it may be the best."""

    @override
    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if state.global_step >= state.max_steps:
            control.should_evaluate = True


class Snapshots(TrainerCallback):
    """Keeps a model every ``every`` steps, each in a folder such as ``step-00030``."""

    def __init__(self, folder: Path, every: int) -> None:
        self.folder = folder
        self.every = every

    @override
    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if state.global_step % self.every == 0 and state.is_world_process_zero:
            with atomic_path(self.folder / f"step-{state.global_step:05}") as temporary:
                kwargs["model"].save_pretrained(str(temporary), create_model_card=False)


class TrainingProgress(TrainerCallback):
    """Steps done, time left and the last loss of a stage."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self.bar = progress_bar()

    @override
    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if state.is_world_process_zero:
            self.bar.start()
        self.task = self.bar.add_task(self.stage, total=state.max_steps, completed=state.global_step)

    @override
    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        self.bar.update(self.task, completed=state.global_step)

    @override
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
            self.bar.update(self.task, description=f"{self.stage} ({loss})")
            self._print(state, loss)
        best = args.metric_for_best_model
        if logs and best in logs:
            self._print(state, f"{best.removeprefix('eval_').replace('_', ' ')} {logs[best]:.2f}", always=True)

    def _print(self, state: TrainerState, figure: str, always: bool = False) -> None:
        """A line in the log where there is no terminal to show the bar on; where there is one, above the bar."""
        if not (state.is_world_process_zero and (always or self.bar.disable)):
            return
        line = f"{self.stage}: step {state.global_step}/{state.max_steps}, {figure}"
        if self.bar.disable:
            note(line)
        else:
            self.bar.console.print(line, highlight=False)
