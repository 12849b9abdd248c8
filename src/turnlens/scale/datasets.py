"""Conversations and embeddings in pipelines of Ray Data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from typing_extensions import Unpack

from turnlens._utils.registries import require
from turnlens.data.conversation_reader import SkippedRows
from turnlens.data.read_options import ReadingOptions, ReadOptions
from turnlens.formats.input_files import Paths
from turnlens.scale.cluster import Actors
from turnlens.scale.inputs import InputFile, find_inputs
from turnlens.scale.job import Embedding
from turnlens.scale.shards import CONVERSATIONS_IN_SHARD

if TYPE_CHECKING:
    import ray.data

    from turnlens.encoders.inference import Half


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
        _Actor,
        batch_size=batch_size,
        batch_format="pyarrow",
        fn_constructor_args=(Embedding(encoder, level, pooling, dtype), plan.cpus),
        compute=ray.data.ActorPoolStrategy(size=plan.number),
        **plan.resources,
    )


class _Actor:
    """One encoder in a process of its own."""

    def __init__(self, embedding: Embedding, threads: int) -> None:
        from turnlens.scale.embedder import Embedder

        self._embedder = Embedder(embedding, threads)

    def __call__(self, batch: pa.Table) -> pa.Table:
        return self._embedder.embed(batch.select(["id", "messages"]).to_pylist())
