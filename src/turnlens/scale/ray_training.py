"""Training on Ray Train: every worker of a cluster does the same work, and all form one torch process group."""

from __future__ import annotations

import logging
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from turnlens._compat import raised_in_worker
from turnlens._utils.progress import error_console, log_handler, note
from turnlens._utils.registries import require
from turnlens.scale.ray_data import Actors, ray_cluster

_RESTARTS = 3
# Ray's default is a minute, after which it starts workers again, endlessly. Importing torch may take longer than that.
_SECONDS_TO_START = 600


def train_on_ray(work: Callable[[bool], object], workers: int | None = None, resume: bool = False) -> None:
    """Train in several workers of a Ray cluster, as ``torchrun`` does in several processes.

    If a worker dies, Ray ends the others; then all are started again and continue from the newest checkpoint. Messages
    of the first worker are shown here.

    Args:
        work: What each worker does. It is told whether to continue an unfinished run, and it must be picklable.
        workers: The number of workers; by default one for each GPU, or one for every four CPUs.
        resume: Whether the first start may continue an unfinished run.

    Raises:
        ChildProcessError: Workers died again and again.
        ImportError: Ray is not installed.
        ValueError: The cluster has no room for that many workers. Errors of the work that users can mend are raised
            unchanged, too.
    """
    os.environ.setdefault("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", str(_SECONDS_TO_START))
    with ray_cluster(workers, worker_output=False) as ray:
        failed = require("ray.train", "ray").TrainingFailedError
        plan = Actors.on(ray.cluster_resources(), workers)
        if 0 < plan.gpus < 1:
            gpus = int(ray.cluster_resources()["GPU"])
            raise ValueError(
                f"{plan.number} workers need a GPU each, and the cluster has {gpus}: take --set workers={gpus}"
            )
        for left in reversed(range(_RESTARTS + 1)):
            try:
                return _run(work, plan, resume)
            except failed as error:
                reason = _reason(error)
                if not left:
                    problem = f"the workers failed {_RESTARTS + 1} times, most recently with: {reason}"
                    raise ChildProcessError(f"{problem}. Run it again with --resume: checkpoints are kept") from error
            note(f"A worker failed: {reason}. All are started again and continue from the newest checkpoint.")
            resume = True


def _run(work: Callable[[bool], object], plan: Actors, resume: bool) -> None:
    """Run the work once in all workers."""
    train, torch = require("ray.train", "ray"), require("ray.train.torch", "ray")
    with tempfile.TemporaryDirectory(prefix="turnlens-") as folder, _notes() as notes, _ctrl_c_raises():
        trainer = torch.TorchTrainer(
            _in_worker,
            train_loop_config={
                "work": work,
                "resume": resume,
                "folder": str(Path.cwd()),
                "notes": notes,
                "log_level": logging.getLogger("turnlens").level,
            },
            scaling_config=train.ScalingConfig(
                num_workers=plan.number, use_gpu=plan.gpus > 0, resources_per_worker={"CPU": plan.cpus}
            ),
            run_config=train.RunConfig(
                name="turnlens",
                storage_path=folder,  # for Ray's own records: our checkpoints are beside the output
                failure_config=train.FailureConfig(0, controller_failure_limit=_RESTARTS, max_preemption_failures=0),
                logging_config=train.LoggingConfig(log_level="ERROR"),
            ),
        )
        trainer.fit()


def _in_worker(config: dict[str, Any]) -> None:
    """The code of each worker, which runs in the folder where the command was given, so that paths stay valid."""
    folder = config["folder"]
    try:
        os.chdir(folder)
    except OSError:
        raise FileNotFoundError(f"{folder} is not on every node: start from a folder on a disk they share") from None
    if os.environ["RANK"] == "0":
        error_console.file = _Notes(config["notes"])  # type: ignore[assignment]
        logger = logging.getLogger("turnlens")
        logger.setLevel(config["log_level"])
        logger.addHandler(log_handler())
    config["work"](config["resume"])


class _Notes:
    """A file whose lines go to a queue."""

    def __init__(self, queue: Any) -> None:
        self._queue = queue

    def write(self, text: str) -> None:
        self._queue.put(text.rstrip("\n"))

    def flush(self) -> None: ...


@contextmanager
def _notes() -> Iterator[Any]:
    """A queue of notes, each of which is shown as soon as it arrives."""
    queue = require("ray.util.queue", "ray").Queue(actor_options={"num_cpus": 0})

    def show() -> None:
        while (text := queue.get()) is not None:
            note(text)

    thread = Thread(target=show, daemon=True)
    thread.start()
    try:
        yield queue
    finally:
        queue.put(None)
        thread.join()


def _reason(error: Exception) -> str:
    """Why workers failed, in one line; an error that a user can mend is raised unchanged."""
    failures = getattr(error, "worker_failures", {})
    for failure in map(raised_in_worker, failures.values()):
        if isinstance(failure, ValueError | OSError | ImportError):
            raise failure from None
    lines = [str(failure).strip().splitlines() for failure in (*failures.values(), error)]
    return next(line[-1] for line in lines if line)


@contextmanager
def _ctrl_c_raises() -> Iterator[None]:
    """Make Ctrl-C raise ``KeyboardInterrupt``, where Ray would exit with 0 or 1; SIGTERM keeps its own exit code."""
    previous = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit as stop:
        if stop.code not in (0, 1):
            raise
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, previous)
