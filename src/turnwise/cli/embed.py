"""The command that embeds conversations: `turnwise embed`."""

from __future__ import annotations

from functools import partial

from turnwise._utils.progress import console
from turnwise.cli.data import read_data
from turnwise.cli.options import Data, Force, Format, Level, Model, ParquetFile, Pooling, Resume, SkipBadRows
from turnwise.cli.terminal import quiet_transformers


def embed(
    data: Data,
    output: ParquetFile,
    model: Model = None,
    level: Level = "utterance",
    pooling: Pooling = "mean",
    format: Format = "auto",
    skip_bad_rows: SkipBadRows = False,
    resume: Resume = False,
    force: Force = False,
) -> None:
    """Embed every message, or every conversation as a whole.

    The Parquet file has the columns id, turn, role, text and vector, or only id and vector for whole conversations.

    Example: `turnwise embed chats.jsonl --model model --output vectors.parquet`
    """
    quiet_transformers()
    from turnwise.encoders.embed import embed_messages, embed_whole, write_embeddings
    from turnwise.encoders.loading import encoder_source, load_encoder, weights_digest

    conversations = read_data(data, format, skip_bad_rows, output)
    encoder = load_encoder(model)
    embed_rows = partial(embed_whole, encoder, pooling) if level == "dialogue" else partial(embed_messages, encoder)
    what = {"encoder": encoder_source(encoder), "weights": weights_digest(encoder), "level": level, "pooling": pooling}
    count = write_embeddings(embed_rows, what, conversations, output, resume, force)
    console.print(f"Wrote {count:,} embeddings to {output}")
