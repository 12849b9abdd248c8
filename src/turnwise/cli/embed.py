"""The command that embeds conversations: `turnwise embed`."""

from __future__ import annotations

from functools import partial
from typing import Any

from turnwise._utils.progress import note
from turnwise.cli.options import Cache, Data, Dtype, Force, Level, Model, Pooling, Resume, VectorFile, given
from turnwise.cli.reading import Reading, reads_conversations
from turnwise.cli.terminal import quiet_transformers


@reads_conversations
def embed(
    data: Data,
    output: VectorFile,
    reading: Reading,
    model: Model = None,
    level: Level = "utterance",
    pooling: Pooling = "mean",
    dtype: Dtype = None,
    cache: Cache = True,
    resume: Resume = False,
    force: Force = False,
) -> None:
    """Embed every message, or every conversation as a whole.

    The columns are id, turn, role, text and vector, or only id and vector for whole conversations: in a .parquet or
    .csv file; or the vectors in a .npy file and the rest beside it as .jsonl; or as JSON lines on the standard output.

    Example: `turnwise embed chats.jsonl --model model --output vectors.parquet`
    """
    quiet_transformers()
    from turnwise.data.reading.files import check_apart
    from turnwise.encoders.embed import embed_messages, embed_whole, write_embeddings
    from turnwise.encoders.loading import encoder_source, load_encoder, weights_digest
    from turnwise.encoders.vector_cache import VectorCache, can_be_cached
    from turnwise.encoders.vector_files import check_vector_file

    check_vector_file(output, force)
    if output.suffix.lower() == ".npy":  # which has a file beside it
        check_apart(output.with_suffix(".jsonl"), data)
    conversations = reading.read(data, output)
    encoder = load_encoder(model)
    embed_rows: Any = partial(embed_whole, encoder, pooling, dtype=dtype)
    if level == "utterance":
        kept = VectorCache(encoder) if cache and can_be_cached(encoder) else None
        embed_rows = partial(embed_messages, encoder, dtype=dtype, cache=kept)
    what = {"encoder": encoder_source(encoder), "weights": weights_digest(encoder), "level": level, "pooling": pooling}
    what |= given({"dtype": dtype})
    count = write_embeddings(embed_rows, what, conversations, output, resume, force)
    note(f"Wrote {count:,} embeddings to {output}")
