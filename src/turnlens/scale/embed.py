"""Embedding conversations into a table or a file in this process, and the shards of a corpus."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
from datasets import Dataset

from turnlens.data.conversation_source import ConversationSource
from turnlens.data.conversations import read_conversations
from turnlens.encoders.centre import centre_digest
from turnlens.encoders.embed import embed_messages, embed_whole, write_embeddings
from turnlens.encoders.encoder import Encoder, Half
from turnlens.encoders.loading import as_encoder, as_sentence_transformer, encoder_source, weights_digest
from turnlens.encoders.vector_cache import VectorCache, can_be_cached
from turnlens.encoders.vector_files import check_vector_file
from turnlens.scale.job import Embedding, Job
from turnlens.scale.output import Shard

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_CACHED = ("message", "message-with-history")
_CONTEXTS: dict[str, Literal["history", "conversation"]] = {
    "message-with-history": "history",
    "message-in-context": "conversation",
}


def embed(
    data: ConversationSource,
    *,
    encoder: Encoder | SentenceTransformer | str | os.PathLike[str] | None = None,
    level: str = "message",
    pooling: str = "mean",
    dtype: Half | None = None,
    cache: bool = False,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
) -> pa.Table | int:
    """Embed every message, or every conversation as a whole.

    A corpus that is too large for one file, or for one machine, goes into a folder of parts: see
    `turnlens.scale.embed_corpus`.

    Args:
        data: The conversations: what `turnlens.read_conversations` reads or gives.
        encoder: The encoder, or its name or path; ``None`` is the default encoder.
        level: ``"message"``, a vector for each message; ``"message-with-history"``, the same with the messages
            before it (`add_history`); ``"message-in-context"``, the same with all messages around it
            (`encode_in_context`); or ``"conversation"``, a vector for each conversation.
        pooling: How whole conversations are pooled, see `turnlens.ConversationEncoder.encode_conversations`.
        dtype: ``"bfloat16"`` or ``"float16"`` to compute in half precision.
        cache: Keep the vectors of messages on disk for next time, see `turnlens.encoders.vector_cache`.
        output: A file to write instead of returning a table: its name ends in .parquet, .csv, or .npy (the other
            columns then lie in a .jsonl file beside it). Memory stays small, and parts are kept in ``<output>.run``
            until the file is complete.
        resume: Continue an unfinished run of this output.
        force: Overwrite the output, and forget an unfinished run.

    Returns:
        An Arrow table, whose ``to_pandas()`` gives a DataFrame: id, turn, role, text and vector (float32) for each
        message, or id and vector for each conversation. With an output, the number of rows in it.

    Raises:
        FileExistsError: The output or an unfinished run exists, and neither ``resume`` nor ``force`` is given.
        ValueError: An unknown level or pooling, or an output with another ending or among what is read.
    """
    embedding = Embedding(level=level, pooling=pooling, dtype=dtype)
    if output is not None:
        check_vector_file(output, force, data)
    conversations = read_conversations(data)
    encoder = as_encoder(encoder) if dtype is None else as_sentence_transformer(encoder)
    kept = VectorCache(encoder) if cache and level in _CACHED and can_be_cached(encoder) else None
    rows = rows_of_embedding(encoder, embedding, kept)
    if output is None:
        return rows(conversations)
    return write_embeddings(
        rows, settings_of_embedding(encoder, embedding), conversations, output, resume=resume, force=force
    )


class Embedder:
    """An encoder that embeds tables of conversations; each process loads its own.

    Args:
        embedding: How conversations are embedded.
        threads: Number of processor threads; 0 leaves it as it is.
    """

    def __init__(self, embedding: Embedding, threads: int = 0) -> None:
        load = as_encoder if embedding.dtype is None else as_sentence_transformer
        encoder = load(embedding.model)
        if threads:
            encoder.limit_threads(threads)
        self._embed = rows_of_embedding(encoder, embedding)
        self.settings = settings_of_embedding(encoder, embedding)

    def embed(self, conversations: list[dict[str, Any]]) -> pa.Table:
        """The table that ``turnlens embed`` makes from conversations."""
        return self._embed(Dataset.from_list(conversations))


def rows_of_embedding(
    encoder: Encoder, embedding: Embedding, cache: VectorCache | None = None
) -> Callable[[Dataset], pa.Table]:
    """A function from conversations to the rows of ``turnlens embed``; it may look messages up in a cache."""
    if embedding.level == "conversation":
        return partial(embed_whole, encoder, embedding.pooling, dtype=embedding.dtype)
    context = _CONTEXTS.get(embedding.level)
    return partial(embed_messages, encoder, dtype=embedding.dtype, cache=cache, context=context)


def settings_of_embedding(encoder: Encoder, embedding: Embedding) -> dict[str, Any]:
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
