"""The Ray cluster that a job runs on: an existing one, or one on this machine that ends with the job."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from turnlens._utils.registries import require

_CPUS_OF_AN_ACTOR = 4
_STARTS = 3


@dataclass(frozen=True)
class Actors:
    """How many processes embed, and which resources each of them has.

    Attributes:
        number: The number of processes.
        cpus: CPUs of each process.
        gpus: GPUs of each process; a fraction is a share of one GPU.
    """

    number: int
    cpus: int
    gpus: float

    @property
    def resources(self) -> dict[str, Any]:
        """The resources that Ray reserves for each actor."""
        return {"num_cpus": self.cpus, "num_gpus": self.gpus}

    @classmethod
    def on(cls, resources: dict[str, float], wanted: int | None) -> Actors:
        """The actors for a cluster with these resources, one CPU of which is left for readers.

        Raises:
            ValueError: The cluster has too few CPUs for the number wanted.
        """
        cpus, gpus = max(1, int(resources.get("CPU", 1)) - 1), int(resources.get("GPU", 0))
        if wanted is not None and not 1 <= wanted <= cpus:
            raise ValueError(
                f"no room for {wanted} processes; expected 1 to {cpus}, since the cluster has {cpus + 1} CPUs"
            )
        number = wanted or gpus or max(1, cpus // _CPUS_OF_AN_ACTOR)
        if gpus:
            return cls(min(number, cpus), 1, 1 / math.ceil(number / gpus))
        return cls(number, min(_CPUS_OF_AN_ACTOR, cpus // number), 0)


@contextmanager
def cluster(actors: int | None, worker_output: bool = True) -> Iterator[Any]:
    """Connect to Ray: to the cluster of this process or of ``RAY_ADDRESS``, or else to a new one on this machine.

    Args:
        actors: How many actors a new cluster must have room for.
        worker_output: Whether to show here what workers print, including Ray's own output.

    Raises:
        ImportError: Ray is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = require("ray", "ray")
    require("ray.data", "ray")
    if ray.is_initialized():
        yield ray
        return
    if "RAY_ADDRESS" in os.environ:
        ray.init(logging_level=logging.ERROR, log_to_driver=worker_output)
    else:
        _start(ray, actors or 1, worker_output)
    try:
        yield ray
    finally:
        ray.shutdown()


def _start(ray: Any, actors: int, worker_output: bool) -> None:
    """Start Ray on this machine. Ray gives up starting after some seconds, which may be too few on a busy machine."""
    # Ray is told of one CPU too many. It is for readers, which hardly need it but could not run if actors held all
    # CPUs.
    cpus = 1 + max(actors, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    for left in reversed(range(_STARTS)):
        try:
            quiet = {"include_dashboard": False, "logging_level": logging.ERROR, "log_to_driver": worker_output}
            ray.init(address="local", num_cpus=cpus, **quiet)
            return
        except Exception as error:
            ray.shutdown()
            if not left or "timed out during startup" not in str(error):
                raise
