"""One process among several: its signals, unfinished runs that can be continued, and memory returned to the system."""

from __future__ import annotations

import ctypes
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from turnlens._utils.files import discard, only_writer, put_in_order, write_text

if TYPE_CHECKING:
    from accelerate import PartialState

_RECORD = "run.json"


@contextmanager
def on_signals(call: Callable[[int, FrameType | None], None], *numbers: int) -> Iterator[None]:
    """Inside the block, these signals make a call, unless this is not the main thread, which alone receives signals."""
    previous = {}
    with suppress(ValueError):
        previous = {number: signal.signal(number, call) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class _Alone:
    """The place of a process that was started alone, which needs no torch."""

    is_main_process, num_processes, process_index = True, 1, 0

    def wait_for_everyone(self) -> None:
        """Return at once."""


def process_state() -> PartialState | _Alone:
    """Return this process's place among those that ``torchrun`` started; one started alone is the main one."""
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return _Alone()
    import torch
    from accelerate import PartialState

    # Without an accelerator, cpu=True is needed: otherwise each process believes that it is the only one.
    return PartialState(cpu=not torch.accelerator.is_available())


@dataclass(frozen=True)
class RunFolder:
    """The folder ``<output>.run``, where a run keeps its checkpoints until its model is written to ``<output>``."""

    folder: Path

    @classmethod
    @contextmanager
    def open(
        cls, output: str | os.PathLike[str], settings: dict[str, Any], resume: bool, force: bool
    ) -> Iterator[RunFolder]:
        """Start a run, or continue an interrupted one. A run that fails before it saves anything leaves no folder.

        Args:
            output: Where the result will be written; the caller has checked it.
            settings: Everything that determines the result, as JSON values. To continue, they must be the same.
            resume: Continue if an unfinished run is there.
            force: Overwrite the model and forget an unfinished run.

        Raises:
            BlockingIOError: Another process is writing this output.
            FileExistsError: An unfinished run or snapshots of this output exist, and no flag allows it.
            ValueError: The unfinished run was started with other settings, or its record is damaged.
        """
        output = Path(output)
        run = cls(output.with_name(output.name + ".run"))
        state = process_state()
        with only_writer(output) if state.is_main_process else nullcontext():
            if state.is_main_process:
                # another number of processes would change the batches and each process's share of them
                record = {**settings, "processes": state.num_processes}
                run._prepare(json.loads(json.dumps(record)), resume, force)
            state.wait_for_everyone()
            try:
                yield run
            except BaseException:
                if run.folder.is_dir() and [path.name for path in run.folder.iterdir()] == [_RECORD]:
                    run.close()
                raise

    @property
    def snapshots(self) -> Path:
        """The folder of the models saved during training; it is kept after the run."""
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
        for path in (record, self.folder, self.snapshots):
            put_in_order(path)
        for folder in (self.folder, self.snapshots):
            if folder.exists() and not force and not _is_empty_folder(folder):
                raise FileExistsError(f"{folder} exists already: choose another output or delete it with --force")
            discard(folder)
        write_text(record, json.dumps(settings, indent=2))

    def close(self) -> None:
        """Remove the checkpoints, now that the model is written."""
        if process_state().is_main_process:
            discard(self.folder)


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _differences(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """The innermost names at which two settings differ."""
    for key in sorted(before.keys() | now.keys()):
        old, new = before.get(key), now.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from (f"{key}.{difference}" for difference in _differences(old, new))
        elif old != new:
            yield f"{key}: was {old}, is {new}"


# Parameters of mallopt, from malloc.h.
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
_OTHER_LIBRARY = (OSError, AttributeError, TypeError)


def keep_little_free_memory() -> None:
    """Make the C library hold on to less freed memory: at most two pools, and no large blocks.

    This changes the whole process, so call it only in a process that runs nothing but turnlens.
    """
    with suppress(*_OTHER_LIBRARY):
        library = ctypes.CDLL(None)
        library.mallopt(_ARENA_MAX, 2)
        library.mallopt(_MMAP_THRESHOLD, 128 * 1024)


def give_back_memory() -> None:
    """Return free memory to the system."""
    with suppress(*_OTHER_LIBRARY):
        ctypes.CDLL(None).malloc_trim(0)
