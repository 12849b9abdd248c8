"""The Ray cluster that a job runs on: one that is there, or one on this machine for as long as the job takes."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from turnwise._utils.optional import require

_CPUS_OF_AN_ACTOR = 4
_STARTS = 3


@dataclass(frozen=True)
class Actors:
    """How many processes embed, and with what.

    Attributes:
        number: How many.
        cpus: Of the processor, each.
        gpus: Each, or its share of one.
    """

    number: int
    cpus: int
    gpus: float

    @property
    def resources(self) -> dict[str, Any]:
        """What Ray reserves for each."""
        return {"num_cpus": self.cpus, "num_gpus": self.gpus}

    @classmethod
    def on(cls, resources: dict[str, float], wanted: int | None) -> Actors:
        """The actors for a cluster with these resources, of which readers keep one CPU.

        Raises:
            ValueError: There are not enough CPUs for so many.
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
    """Ray, connected: to what this process or ``RAY_ADDRESS`` is connected to, else to a cluster of its own.

    Args:
        actors: How many its own must have room for.
        worker_output: Whether what workers print, Ray's own included, is shown here too.

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
    """Start Ray on this machine; what starts it gives up after seconds, which a busy machine may need more of."""
    # One CPU more than there are, for readers, which hardly need any: actors that hold all leave them none.
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
