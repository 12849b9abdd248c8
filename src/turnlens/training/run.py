"""A run of steps, which keeps the result of each, so that it can be continued."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from turnlens._utils.files import put_in_order
from turnlens._utils.processes import RunFolder, process_state
from turnlens.training.state import TrainingState, done_steps


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
            self._done = done_steps(self._folder / "state")

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
        """The state after a step, which is taken unless it is already done."""
        if step.name not in self._done:
            step(state, self)
            self._done.append(step.name)
            if self._folder is not None and process_state().is_main_process:
                state.keep(self._folder / "state", self._done)
        elif self._folder is not None and step.name == self._done[-1]:
            state.restore(self._folder / "state")
        return state

    def unfinished(self, name: str) -> Path | None:
        """A path for the unfinished work of a step; ``None`` if the run keeps nothing."""
        return None if self._folder is None else self._folder / name


class Step(ABC):
    """A step of a training.

    Attributes:
        name: By which a run knows that the step is done, and the name of its unfinished work.
    """

    name: str

    @abstractmethod
    def __call__(self, state: TrainingState, run: Run) -> None:
        """Take the step, which changes the state in place."""
