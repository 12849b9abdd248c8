"""Embedding shards: an encoder, and the parts that are made with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import torch
from datasets import Dataset

from turnlens.encoders.centre import centre_digest
from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.encoders.embed import embed_messages, embed_messages_in_context, embed_whole
from turnlens.encoders.identity import encoder_source, weights_digest
from turnlens.encoders.loading import load_encoder
from turnlens.encoders.vector_cache import VectorCache
from turnlens.scale.job import Embedding, Job
from turnlens.scale.shards import Shard


class Embedder:
    """An encoder that embeds tables of conversations; each process loads its own.

    Args:
        embedding: How conversations are embedded.
        threads: Number of processor threads; 0 leaves it as it is.
    """

    def __init__(self, embedding: Embedding, threads: int = 0) -> None:
        if threads:
            torch.set_num_threads(threads)
        encoder = load_encoder(embedding.model)
        self._embed = rows_of_embedding(encoder, embedding)
        self.settings = settings_of_embedding(encoder, embedding)

    def embed(self, conversations: list[dict[str, Any]]) -> pa.Table:
        """The table that ``turnlens embed`` makes from conversations."""
        return self._embed(Dataset.from_list(conversations))


def rows_of_embedding(
    encoder: ConversationEncoder, embedding: Embedding, cache: VectorCache | None = None
) -> Callable[[Dataset], pa.Table]:
    """A function from conversations to the rows of ``turnlens embed``; it may look messages up in a cache."""
    if embedding.level == "conversation":
        return partial(embed_whole, encoder, embedding.pooling, dtype=embedding.dtype)
    if embedding.level == "message-in-context":
        return partial(embed_messages_in_context, encoder, dtype=embedding.dtype)
    history = embedding.level == "message-with-history"
    return partial(embed_messages, encoder, dtype=embedding.dtype, cache=cache, history=history)


def settings_of_embedding(encoder: ConversationEncoder, embedding: Embedding) -> dict[str, Any]:
    """Everything that the vectors depend on, in the form that outputs record."""
    settings = {"encoder": encoder_source(encoder), "weights": weights_digest(encoder), **embedding.settings}
    digest = centre_digest(encoder.centre)
    return {**settings, "centre": digest} if digest and embedding.level == "conversation" else settings


class ShardWriter:
    """Embeds the shards that are not done and writes their parts.

    Args:
        job: The job.
        embedder: The encoder of this process.

    Raises:
        ValueError: The encoder is not the one that the job was started with.
    """

    def __init__(self, job: Job, embedder: Embedder) -> None:
        self._job = job
        self._embedder = embedder
        actual, expected = embedder.settings["weights"], job.settings["weights"]
        if actual != expected:
            name = embedder.settings["encoder"]
            problem = f"the weights of {name} are {actual} here, {expected} where the job began"
            raise ValueError(f"{problem}: all workers must find the same model")

    def write(self, shard: Shard) -> Shard:
        """Embed a shard, write its part, and return the shard as done."""
        if shard.is_unfinished:
            self._job.output.write_part(shard, self._embedder.embed(shard.rows_to_embed()), self._job.settings)
        return shard.done()
