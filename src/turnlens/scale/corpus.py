"""Embedding a corpus of any size into a folder of parts, by one process or by many."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Literal

from typing_extensions import Unpack

from turnlens._utils.progress import progress_of
from turnlens.data.conversation_reader import SkippedRows, nothing_left
from turnlens.data.conversation_source import ROW, ConversationSource
from turnlens.data.read_options import ReadingOptions, ReadOptions
from turnlens.encoders.encoder import Half
from turnlens.formats.input_files import is_paths
from turnlens.scale.embed import Embedder, ShardWriter
from turnlens.scale.inputs import GivenInput, InputFile, find_inputs, total
from turnlens.scale.job import Embedding, Job
from turnlens.scale.output import CONVERSATIONS_IN_SHARD, PartFolder, Shard
from turnlens.scale.ray_data import write_on_ray

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
