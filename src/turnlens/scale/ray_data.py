"""Embedding with Ray Data: the cluster, a job on it, and conversations in pipelines of one's own."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from typing_extensions import Unpack

from turnlens._utils.registries import require
from turnlens.data.conversation_reader import SkippedRows
from turnlens.data.read_options import ReadingOptions, ReadOptions
from turnlens.formats.input_files import Paths
from turnlens.scale.inputs import InputFile, find_inputs
from turnlens.scale.job import Embedding, Job
from turnlens.scale.output import CONVERSATIONS_IN_SHARD, Shard

if TYPE_CHECKING:
    import ray.data

    from turnlens.encoders.encoder import Half


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
    with ray_cluster(actors) as ray, _quietly(ray), _own_errors(ray):
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
        from turnlens.scale.embed import Embedder, ShardWriter  # imports torch, which readers do not need

        self._writer = ShardWriter(job, Embedder(job.embedding, threads=threads))

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


_CPUS_OF_AN_ACTOR = 4


@dataclass(frozen=True)
class Actors:
    """Number of processes that embed, and the resources of each.

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
def ray_cluster(actors: int | None, worker_output: bool = True) -> Iterator[Any]:
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
    for left in reversed(range(3)):  # further starts
        try:
            quiet = {"include_dashboard": False, "logging_level": logging.ERROR, "log_to_driver": worker_output}
            ray.init(address="local", num_cpus=cpus, **quiet)
            return
        except Exception as error:
            ray.shutdown()
            if not left or "timed out during startup" not in str(error):
                raise


def read_dataset(paths: Paths, **options: Unpack[ReadOptions]) -> ray.data.Dataset:
    """Read conversations of any known format as a dataset of Ray Data, one task for each file.

    Args:
        paths: Files, folders, globs, or URLs of any of them, which all workers can read.
        **options: As for `turnlens.read_conversations`.

    Returns:
        Columns ``id`` and ``messages``, a list of ``{"role", "content"}``.

    Raises:
        ConversationError: A path stands for no file. Bad rows raise it only when the dataset is computed.
        ImportError: Ray is not installed.
    """
    data = require("ray.data", "ray")
    how = ReadingOptions.of(**options)
    files = find_inputs(paths, how.format)

    def read(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        skipped = SkippedRows(how.on_error)
        for conversation in InputFile(**row).rows(how, skipped):
            messages = [{"role": m["role"], "content": m["content"]} for m in conversation["messages"]]
            yield {"id": conversation["id"], "messages": messages}
        skipped.report()

    items = data.from_items([asdict(file) for file in files], override_num_blocks=len(files))
    return items.flat_map(read)


def embed_dataset(
    dataset: ray.data.Dataset,
    *,
    encoder: str | None = None,
    level: str = "message",
    pooling: str = "mean",
    dtype: Half | None = None,
    actors: int | None = None,
    batch_size: int = CONVERSATIONS_IN_SHARD,
) -> ray.data.Dataset:
    """Embed the conversations of a dataset of Ray Data in several actors, each with its own encoder.

    To embed files into a folder, with jobs that can be resumed after a kill, see `embed_corpus`.

    Args:
        dataset: Columns ``id`` and ``messages``, as `read_dataset` gives them.
        encoder: A folder that all workers see, or a Hub name; by default the default encoder.
        level: ``"message"``, ``"message-with-history"``, ``"message-in-context"`` or ``"conversation"``.
        pooling: How whole conversations are pooled, see `turnlens.ConversationEncoder`.
        dtype: As for `embed_corpus`.
        actors: As for `embed_corpus`.
        batch_size: Conversations that an actor takes at a time.

    Returns:
        The columns of ``turnlens embed``: id, turn, role, text and vector, or id and vector of whole conversations.

    Raises:
        ValueError: The level is unknown, or the cluster has no room for that many actors.
    """
    ray = require("ray", "ray")
    plan = Actors.on(ray.cluster_resources(), actors)
    return dataset.map_batches(
        _DatasetActor,
        batch_size=batch_size,
        batch_format="pyarrow",
        fn_constructor_args=(Embedding(encoder, level, pooling, dtype), plan.cpus),
        compute=ray.data.ActorPoolStrategy(size=plan.number),
        **plan.resources,
    )


class _DatasetActor:
    """One encoder in a process of its own."""

    def __init__(self, embedding: Embedding, threads: int) -> None:
        from turnlens.scale.embed import Embedder

        self._embedder = Embedder(embedding, threads=threads)

    def __call__(self, batch: pa.Table) -> pa.Table:
        return self._embedder.embed(batch.select(["id", "messages"]).to_pylist())
