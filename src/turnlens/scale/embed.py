"""Embedding conversations into a table or a file in this process, and corpora of any size into a folder of parts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
from datasets import Dataset
from typing_extensions import Unpack

from turnlens._utils.progress import progress_of
from turnlens.data.conversation_reader import SkippedRows, nothing_left
from turnlens.data.conversation_source import ROW, ConversationSource
from turnlens.data.conversations import read_conversations
from turnlens.data.read_options import ReadingOptions, ReadOptions
from turnlens.encoders.centre import centre_digest
from turnlens.encoders.embed import embed_messages, embed_whole, write_embeddings
from turnlens.encoders.encoder import Encoder, Half
from turnlens.encoders.loading import as_encoder, as_sentence_transformer, encoder_source, weights_digest
from turnlens.encoders.vector_cache import VectorCache, can_be_cached
from turnlens.encoders.vector_files import check_vector_file
from turnlens.formats.input_files import is_paths
from turnlens.scale.inputs import GivenInput, InputFile, find_inputs, total
from turnlens.scale.job import Embedding, Job
from turnlens.scale.output import CONVERSATIONS_IN_SHARD, PartFolder, Shard
from turnlens.scale.ray_data import write_on_ray

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

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
    embedder = Embedder(embedding, encoder, cache=cache)
    if output is None:
        return embedder.rows(conversations)
    return write_embeddings(embedder.rows, embedder.settings, conversations, output, resume=resume, force=force)


class Embedder:
    """An encoder that embeds conversations in one way; each process loads its own.

    Args:
        embedding: How conversations are embedded.
        encoder: The encoder, or its name or path; by default the one that is named there.
        threads: Number of processor threads; 0 leaves it as it is.
        cache: Keep the vectors of messages on disk.
    """

    def __init__(
        self,
        embedding: Embedding,
        encoder: Encoder | SentenceTransformer | str | os.PathLike[str] | None = None,
        threads: int = 0,
        cache: bool = False,
    ) -> None:
        load = as_encoder if embedding.dtype is None else as_sentence_transformer
        self._encoder, self._embedding = load(embedding.model if encoder is None else encoder), embedding
        if threads:
            self._encoder.limit_threads(threads)
        self._cache = None
        if cache and embedding.level in ("message", "message-with-history") and can_be_cached(self._encoder):
            self._cache = VectorCache(self._encoder)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Everything that the vectors depend on, in the form that outputs record."""
        encoder = self._encoder
        made_by = {"encoder": encoder_source(encoder), "weights": weights_digest(encoder), **self._embedding.settings}
        digest = centre_digest(encoder.centre) if self._embedding.level == "conversation" else ""
        return {**made_by, "centre": digest} if digest else made_by

    def rows(self, conversations: Dataset) -> pa.Table:
        """The rows of ``turnlens embed``."""
        level, dtype = self._embedding.level, self._embedding.dtype
        if level == "conversation":
            return embed_whole(self._encoder, self._embedding.pooling, conversations, dtype)
        return embed_messages(self._encoder, conversations, dtype, self._cache, _CONTEXTS.get(level))

    def embed(self, conversations: list[dict[str, Any]]) -> pa.Table:
        """The table that ``turnlens embed`` makes from conversations."""
        return self.rows(Dataset.from_list(conversations))


@dataclass(frozen=True)
class ShardWriter:
    """Embeds the shards that are not done and writes their parts.

    Args:
        job: The job.
        embedder: The encoder of this process.

    Raises:
        ValueError: The encoder is not the one that the job was started with.
    """

    job: Job
    embedder: Embedder

    def __post_init__(self) -> None:
        actual, expected = self.embedder.settings["weights"], self.job.settings["weights"]
        if actual != expected:
            name = self.embedder.settings["encoder"]
            problem = f"the weights of {name} are {actual} here, {expected} where the job began"
            raise ValueError(f"{problem}: all workers must find the same model")

    def write(self, shard: Shard) -> Shard:
        """Embed a shard, write its part, and return the shard as done."""
        if shard.content:
            self.job.output.write_part(shard, self.embedder.embed(shard.rows_to_embed()), self.job.settings)
        return shard.done()


Engine = Literal["local", "ray"]


def embed_corpus(
    data: ConversationSource,
    *,
    output: str | os.PathLike[str],
    encoder: str | os.PathLike[str] | None = None,
    level: str = "message",
    pooling: str = "mean",
    dtype: Half | None = None,
    engine: Engine = "local",
    actors: int | None = None,
    resume: bool = False,
    force: bool = False,
    shard_size: int = CONVERSATIONS_IN_SHARD,
    **options: Unpack[ReadOptions],
) -> int:
    """Embed conversations into a folder of Parquet parts, one for each shard, with a manifest.

    A part appears only when it is complete, and its name identifies its content. So if the job is killed, resuming it
    embeds only the shards that have no part yet. If files were added to the corpus, only new content is embedded.
    Both engines write the same parts; the manifest is written last.

    Args:
        data: Files, folders, globs, or URLs of any of them (``s3://…``, ``gs://…``), which all workers can read. The
            engine ``"local"`` also takes whatever else `turnlens.read_conversations` reads or gives.
        output: A folder or a URL, which all workers can write.
        encoder: A folder that all workers see, or a Hub name; by default the default encoder.
        level: ``"message"``, a vector for each message; ``"message-with-history"``, the same with the messages
            before it (`add_history`); ``"message-in-context"``, the same with all messages around it
            (`turnlens.ConversationEncoder.encode_messages`); or ``"conversation"``, a vector for each conversation.
        pooling: How whole conversations are pooled, see `turnlens.ConversationEncoder`.
        dtype: ``"bfloat16"`` or ``"float16"`` to compute in half precision.
        engine: ``"local"``, this process, or ``"ray"``: the cluster that this process or ``RAY_ADDRESS`` names, else
            one on this machine.
        actors: With Ray, the number of processes that embed, each with an encoder. By default there is one for each
            GPU, or one for every four CPUs.
        resume: Continue with the parts that are already there.
        force: Remove the parts that are already there.
        shard_size: Conversations in a shard. If it is changed, existing parts are not recognised.
        **options: As for `turnlens.read_conversations`.

    Returns:
        The number of rows.

    Raises:
        BlockingIOError: Another process on this machine is writing there.
        ConversationError: There is nothing to read, or a row is bad; the message names the file and line.
        FileExistsError: The folder is not empty, and neither ``resume`` nor ``force`` is given.
        ValueError: An argument has none of the values above, or the existing parts were made with other settings.
    """
    if engine not in ("local", "ray"):
        raise ValueError(f"engine is {engine!r}; expected 'local' or 'ray'")
    if shard_size < 1:
        raise ValueError(f"shard_size is {shard_size}; expected at least 1")
    how = ReadingOptions.of(**options)
    files: list[InputFile] = (
        find_inputs(data, how.format)
        if engine == "ray" or is_paths(data)
        else [GivenInput(0, ROW, type(data).__name__, data)]
    )
    embedding = Embedding(None if encoder is None else str(encoder), level, pooling, dtype)
    folder = PartFolder(str(output))
    embedder = Embedder(embedding)
    settings = embedder.settings
    job = Job(folder, embedding, settings, how, shard_size)
    with folder.writing(settings, resume, force):
        parts = folder.parts()
        if engine == "ray":
            shards = write_on_ray(files, job, parts, actors)
        else:
            write = ShardWriter(job, embedder).write
            shards = (write(shard) for file in files for shard in job.shards(file, parts))
        done = _collected(shards)
        skipped = total([SkippedRows.from_json(shard.skipped) for shard in done if shard.skipped])
        if not skipped.kept:
            raise nothing_left([file.path for file in files], skipped)
        rows = folder.commit(done, settings, [file.path for file in files])
    skipped.report()
    return rows


def _collected(shards: Iterator[Shard]) -> list[Shard]:
    """Each shard once, even if an engine has done it twice."""
    done: dict[tuple[int, int], Shard] = {}
    with progress_of("embedding conversations", None) as advance:
        for shard in shards:
            done[shard.file, shard.number] = shard
            advance(shard.conversations)
    return list(done.values())
