"""Embedding whole corpora into one file, in bounded memory and in parts that survive being killed."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from datasets import Dataset

from turnlens._utils.files import atomic_path, is_standard
from turnlens._utils.processes import RunFolder
from turnlens._utils.progress import progress_of
from turnlens.data.dataset_operations import fingerprint
from turnlens.encoders.encoder import Encoder, Half
from turnlens.encoders.loading import encoder_source, weights_digest
from turnlens.encoders.messages import encode_contexts, encode_messages
from turnlens.encoders.vector_cache import VectorCache
from turnlens.encoders.vector_files import check_vector_file, write_vectors

_CONVERSATIONS_IN_PART = 200
_METADATA = "turnlens"  # what the vectors depend on, in the metadata of the file


def embed_messages(
    encoder: Encoder,
    conversations: Dataset,
    dtype: Half | None = None,
    cache: VectorCache | None = None,
    context: Literal["history", "conversation"] | None = None,
) -> pa.Table:
    """One row for every message: id, turn, role, text, vector (float32).

    With a ``context``, the vector also contains messages around it, see `Encoder.encode_messages`.
    """
    vectors = encoder.encode_messages(conversations["messages"][:], context=context, dtype=dtype, cache=cache)
    return messages_with_vectors(conversations, vectors)


def embed_taught(encoder: Encoder, teacher: Encoder, context_turns: int, conversations: Dataset) -> pa.Table:
    """Embed messages as `embed_messages` does, and add a teacher's vectors of each message and its context.

    Args:
        encoder: The encoder.
        teacher: Reads the turns before a message as one text, see `turnlens.encoders.messages.encode_contexts`.
        context_turns: The teacher reads at most this many turns before a message.
        conversations: The conversations.

    Returns:
        Further columns ``teacher_context``, arbitrary where nothing precedes the message, and ``teacher_response``.
    """
    table = embed_messages(encoder, conversations)
    texts = [[message["content"] for message in row["messages"]] for row in conversations]
    contexts = [
        turns[max(0, turn - context_turns) : turn] or turns[:1] for turns in texts for turn in range(len(turns))
    ]
    table = _with_vectors(table, encode_contexts(teacher, contexts), "teacher_context")
    return _with_vectors(table, encode_messages(teacher, table["text"].to_pylist()), "teacher_response")


def embed_whole(encoder: Encoder, pooling: str, conversations: Dataset, dtype: Half | None = None) -> pa.Table:
    """One row for every conversation: id, vector (float32)."""
    table = pa.table({"id": pa.array(conversations["id"], pa.string())})
    vectors = encoder.encode_conversations(conversations["messages"][:], pooling=pooling, dtype=dtype)
    return _with_vectors(table, vectors)


def messages_with_vectors(conversations: Dataset, vectors: np.ndarray) -> pa.Table:
    """One row for every message, with its vector from elsewhere: id, turn, role, text, vector (float32)."""
    rows = [
        {"id": row["id"], "turn": turn, "role": message["role"], "text": message["content"]}
        for row in conversations
        for turn, message in enumerate(row["messages"])
    ]
    schema = pa.schema({"id": pa.string(), "turn": pa.int32(), "role": pa.string(), "text": pa.string()})
    return _with_vectors(pa.Table.from_pylist(rows, schema=schema), vectors)


def _with_vectors(table: pa.Table, vectors: np.ndarray, name: str = "vector") -> pa.Table:
    if not np.isfinite(vectors).all():
        raise ValueError("the model gives vectors that are not finite: its training has diverged, or it is damaged")
    flat = pa.array(vectors.astype(np.float32).ravel())
    return table.append_column(name, pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]))


def write_embeddings(
    embed: Callable[[Dataset], pa.Table],
    settings: dict[str, Any],
    conversations: Dataset,
    output: str | os.PathLike[str],
    resume: bool = False,
    force: bool = False,
) -> int:
    """Embed a corpus part by part and write one file.

    Args:
        embed: Embeds conversations: `embed_messages` or another function here with its first arguments bound.
        settings: What ``embed`` depends on; must be the same when continuing. JSON values.
        conversations: Conversations, see `turnlens.read_conversations`.
        output: A name ending in .parquet, .csv, or .npy (with .jsonl beside it), or ``-``, the standard output. Until
            it is complete its parts are kept in ``<output>.run``.
        resume: Continue an unfinished run of this output.
        force: Overwrite the output, and forget an unfinished run.

    Returns:
        The number of rows.

    Raises:
        FileExistsError: The output or an unfinished run exists, and neither ``resume`` nor ``force`` is given.
        ValueError: The output has another ending.
    """
    record = {**settings, "conversations": fingerprint(conversations)}
    starts = range(0, len(conversations), _CONVERSATIONS_IN_PART)
    target = check_vector_file(output, force)
    with (
        tempfile.TemporaryDirectory() as passing,
        RunFolder.open(Path(passing) / "vectors" if is_standard(target) else target, record, resume, force) as run,
        progress_of("embedding conversations", len(conversations)) as advance,
    ):
        parts = [run.folder / f"part-{start:09d}.parquet" for start in starts]
        for start, part in zip(starts, parts):
            rows = conversations.select(range(start, min(start + _CONVERSATIONS_IN_PART, len(conversations))))
            if not part.is_file():
                with atomic_path(part) as temporary:
                    pq.write_table(embed(rows), temporary)
            advance(len(rows))
        rows_written = write_vectors(parts, target, {_METADATA: json.dumps(record)})
        run.close()
    return rows_written


def holds_vectors(path: str | os.PathLike[str]) -> bool:
    """Return whether ``turnlens embed`` wrote a file."""
    path = Path(path)
    return path.suffix == ".parquet" and path.is_file() and "vector" in pq.read_schema(path).names


def read_vectors(path: str | os.PathLike[str], encoder: Encoder, expected: Mapping[str, Any] | None = None) -> pa.Table:
    """Read the vectors of messages that ``turnlens embed`` wrote.

    Args:
        path: The Parquet file.
        encoder: The encoder they must be of.
        expected: The settings that they must have been made with, as given to `write_embeddings`, and
            ``conversations``, the fingerprint of the conversations. By default, any will do.

    Raises:
        ValueError: They are from a different encoder, are not of each message alone, or were made with other settings
            than expected.
    """
    table = pq.read_table(path)
    record = json.loads((table.schema.metadata or {}).get(_METADATA.encode(), b"{}"))
    if "weights" in record and record["weights"] != weights_digest(encoder):
        raise ValueError(
            f"{path}: the vectors were made by {record.get('encoder')}, not by {encoder_source(encoder)}: give the "
            "encoder that made them, or embed the conversations again"
        )
    if record.get("level", "message") != "message":
        raise ValueError(
            f"{path}: the vectors have the level {record['level']!r}; expected those of each message alone: embed the "
            "conversations again, with --level message"
        )
    for name, value in (expected or {}).items():
        if record.get(name) != value:
            other = "other conversations" if name == "conversations" else f"another {name}"
            raise ValueError(
                f"{path} holds vectors of {other}, start over with --force ({record.get(name)}, not {value})"
            )
    return table
