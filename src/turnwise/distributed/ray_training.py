"""Training on Ray Train: the same work in every worker of a cluster, joined in one process group of torch."""

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

from turnwise._compat import raised_in_worker
from turnwise._utils.optional import require
from turnwise._utils.progress import error_console, log_handler, note
from turnwise.distributed.cluster import Actors, cluster

_RESTARTS = 3
# A minute by default, after which Ray begins again for ever; importing torch on a busy machine may take longer.
_SECONDS_TO_START = 600


def train_on_ray(work: Callable[[bool], object], workers: int | None = None, resume: bool = False) -> None:
    """Train in several workers of a Ray cluster, as ``torchrun`` does in several processes.

    Where a worker dies, Ray ends the others; all are started again and go on with the newest checkpoint. What the first
    worker tells is shown here.

    Args:
        work: What each worker does, given whether to go on with an unfinished run. It and what it holds can be pickled.
        workers: How many; by default one for each GPU, or for four CPUs.
        resume: Whether there may be an unfinished run to go on with at first.

    Raises:
        ChildProcessError: Workers died again and again.
        ImportError: Ray is not installed.
        ValueError: There is no room for so many workers; and any error of the work that users can mend, as it was.
    """
    os.environ.setdefault("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", str(_SECONDS_TO_START))
    with cluster(workers, worker_output=False) as ray:
        failed = require("ray.train", "ray").TrainingFailedError
        plan = Actors.on(ray.cluster_resources(), workers)
        if 0 < plan.gpus < 1:
            gpus = int(ray.cluster_resources()["GPU"])
            raise ValueError(
                f"{plan.number} workers need a GPU each, and the cluster has {gpus}: take --workers {gpus}"
            )
        for left in reversed(range(_RESTARTS + 1)):
            try:
                return _run(work, plan, resume)
            except failed as error:
                reason = _reason(error)
                if not left:
                    problem = f"workers failed {_RESTARTS + 1} times, at last with: {reason}"
                    raise ChildProcessError(f"{problem}. Run it again with --resume: checkpoints are kept") from error
            note(f"A worker failed: {reason}. All are started again, and go on with the newest checkpoint.")
            resume = True


def _run(work: Callable[[bool], object], plan: Actors, resume: bool) -> None:
    """Run the work once in all workers."""
    train, torch = require("ray.train", "ray"), require("ray.train.torch", "ray")
    with tempfile.TemporaryDirectory(prefix="turnwise-") as folder, _notes() as notes, _ctrl_c_raises():
        trainer = torch.TorchTrainer(
            _in_worker,
            train_loop_config={
                "work": work,
                "resume": resume,
                "folder": str(Path.cwd()),
                "notes": notes,
                "log_level": logging.getLogger("turnwise").level,
            },
            scaling_config=train.ScalingConfig(
                num_workers=plan.number, use_gpu=plan.gpus > 0, resources_per_worker={"CPU": plan.cpus}
            ),
            run_config=train.RunConfig(
                name="turnwise",
                storage_path=folder,  # of Ray's own records: our checkpoints are beside the output
                failure_config=train.FailureConfig(0, controller_failure_limit=_RESTARTS, max_preemption_failures=0),
                logging_config=train.LoggingConfig(log_level="ERROR"),
            ),
        )
        trainer.fit()


def _in_worker(config: dict[str, Any]) -> None:
    """What each worker runs: paths mean what they meant where the command was given."""
    folder = config["folder"]
    try:
        os.chdir(folder)
    except OSError:
        raise FileNotFoundError(f"{folder} is not on every node: start from a folder on a disk they share") from None
    if os.environ["RANK"] == "0":
        error_console.file = _Notes(config["notes"])  # type: ignore[assignment]
        logger = logging.getLogger("turnwise")
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
    """A queue of notes, each of which is shown when it comes."""
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
    """Why workers failed, in a line; what a user can mend is raised as it was."""
    failures = getattr(error, "worker_failures", {})
    for failure in map(raised_in_worker, failures.values()):
        if isinstance(failure, ValueError | OSError | ImportError):
            raise failure from None
    lines = [str(failure).strip().splitlines() for failure in (*failures.values(), error)]
    return next(line[-1] for line in lines if line)


@contextmanager
def _ctrl_c_raises() -> Iterator[None]:
    """Ray takes Ctrl-C over and exits with 0 or 1; here it is an interruption as elsewhere, and SIGTERM what it was."""
    previous = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit as stop:
        if stop.code not in (0, 1):
            raise
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, previous)
