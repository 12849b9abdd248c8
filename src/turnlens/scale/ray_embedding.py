"""A job on Ray Data: tasks read files, actors embed shards, and one process collects the shards that are done."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from turnlens.scale.cluster import Actors, cluster
from turnlens.scale.inputs import InputFile
from turnlens.scale.job import Job
from turnlens.scale.shards import Shard

_READER_CPUS = 0.25  # readers mostly wait for the actors
_BYTES_IN_BLOCK = 1 << 22  # what a reader hands on at a time
_SHARDS_AHEAD = 2  # for each actor: one that it embeds and one that is ready


def write_on_ray(
    files: Sequence[InputFile], job: Job, parts: Mapping[str, Sequence[str]], actors: int | None
) -> Iterator[Shard]:
    """Embed all shards on a Ray cluster; they come in any order.

    Args:
        files: The files.
        job: The job.
        parts: The names of the parts that are there, by their digests.
        actors: The processes that embed.

    Raises:
        ConversationError: Raised as if the files were read in this process.
        ImportError: Ray is not installed.
        ValueError: The cluster has no room for that many actors, or a worker has another encoder.
    """
    with cluster(actors) as ray, _quietly(ray), _own_errors(ray):
        plan = Actors.on(ray.cluster_resources(), actors)
        stored_parts = ray.put(parts)

        def read(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
            for shard in job.shards(InputFile(**row), ray.get(stored_parts)):
                yield asdict(shard)

        shards = (
            ray.data.from_items([asdict(file) for file in files], override_num_blocks=len(files))
            .flat_map(read, num_cpus=_READER_CPUS)
            # An actor takes one block at a time, and Ray puts all shards of a small file into one block.
            .repartition(target_num_rows_per_block=1)
            .map(
                _Actor,
                fn_constructor_args=(job, plan.cpus),
                compute=ray.data.ActorPoolStrategy(size=plan.number, max_tasks_in_flight_per_actor=_SHARDS_AHEAD),
                **plan.resources,
            )
        )
        for row in shards.iter_rows():
            yield Shard(**row)


class _Actor:
    """One encoder in a process of its own."""

    def __init__(self, job: Job, threads: int) -> None:
        from turnlens.scale.embedder import Embedder, ShardWriter  # imports torch, which readers do not need

        self._writer = ShardWriter(job, Embedder(job.embedding, threads))

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        return asdict(self._writer.write(Shard(**row)))


@contextmanager
def _quietly(ray: Any) -> Iterator[None]:
    """Hide Ray's own progress bars and messages, which would mix with ours."""
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current().copy()
    context.enable_progress_bars = False
    context.target_max_block_size = _BYTES_IN_BLOCK
    with ray.data.DataContext.current(context):
        yield


@contextmanager
def _own_errors(ray: Any) -> Iterator[None]:
    """Raise here the original errors that our code raised in a worker, so that users can read them."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        while isinstance(cause, ray.exceptions.RayTaskError | ray.exceptions.UserCodeException):
            cause = cause.__cause__ or getattr(cause, "cause", None)
        if isinstance(cause, ValueError | OSError | ImportError):
            raise cause from None
        raise
