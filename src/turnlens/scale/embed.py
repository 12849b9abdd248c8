"""Embedding conversations into a table or a file, in this process."""

from __future__ import annotations

import os

import pyarrow as pa
from sentence_transformers import SentenceTransformer

from turnlens.data.conversation_source import Given
from turnlens.data.conversations import read_conversations
from turnlens.encoders.embed import write_embeddings
from turnlens.encoders.inference import Half
from turnlens.encoders.loading import as_encoder
from turnlens.encoders.vector_cache import VectorCache, can_be_cached
from turnlens.encoders.vector_files import check_vector_file
from turnlens.scale.embedder import rows_of_embedding, settings_of_embedding
from turnlens.scale.job import Embedding

_CACHED = ("message", "message-with-history")


def embed(
    data: Given,
    *,
    encoder: SentenceTransformer | str | os.PathLike[str] | None = None,
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
        pooling: How whole conversations are pooled, see `ConversationEncoder.encode_conversations`.
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
    encoder = as_encoder(encoder)
    kept = VectorCache(encoder) if cache and level in _CACHED and can_be_cached(encoder) else None
    rows = rows_of_embedding(encoder, embedding, kept)
    if output is None:
        return rows(conversations)
    return write_embeddings(
        rows, settings_of_embedding(encoder, embedding), conversations, output, resume=resume, force=force
    )
