"""The command that embeds conversations: `turnwise embed`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from turnwise._utils.files import is_url
from turnwise._utils.progress import note
from turnwise.cli.options import (
    ActorCount,
    Cache,
    DataOrUrls,
    Dtype,
    Engine,
    Force,
    Level,
    Model,
    Pooling,
    Resume,
    Vectors,
)
from turnwise.cli.reading import Reading, reads_conversations
from turnwise.cli.terminal import quiet_transformers
from turnwise.encoders.folders import encoder_folder

if TYPE_CHECKING:
    from turnwise.distributed.job import Embedding

_CACHED = ("utterance", "utterance-with-history")


@reads_conversations
def embed(
    data: DataOrUrls,
    output: Vectors,
    reading: Reading,
    model: Model = None,
    level: Level = "utterance",
    pooling: Pooling = "mean",
    dtype: Dtype = None,
    cache: Cache = True,
    engine: Engine = "local",
    actors: ActorCount = None,
    resume: Resume = False,
    force: Force = False,
) -> None:
    """Embed every message, or every conversation as a whole.

    With --level utterance-with-history, "Yes, please." is close to what it answers; embedded alone, it is close to
    other answers. These vectors are sums of message vectors, so each message is embedded only once for both levels.
    With --level utterance-in-context, each conversation is read once more, and the vectors also reflect what was said
    afterwards.

    The columns are id, turn, role, text and vector, or only id and vector for whole conversations. They are written to
    a .parquet or .csv file, or as JSON lines to the standard output. A .npy file holds only the vectors; the other
    columns go into a .jsonl file beside it. A large corpus goes into a folder of Parquet parts, which several processes
    can write together; with --resume, conversations that were added to the corpus are embedded too.

    Example: `turnwise embed chats.jsonl --model model --output vectors.parquet`

    Example: `turnwise embed chats.jsonl --level utterance-with-history --output history.parquet`

    Example: `turnwise embed "s3://logs/*.parquet" --engine ray --output s3://logs-embedded`
    """
    quiet_transformers()
    from turnwise.data.reading.files import check_apart
    from turnwise.distributed.job import Embedding
    from turnwise.distributed.output import is_folder_name

    how = Embedding(model, level, pooling, dtype)
    if not is_folder_name(output):
        if engine == "ray" or any(map(is_url, data)):
            what = "--engine ray is" if engine == "ray" else "URLs are"
            raise ValueError(f"{output}: {what} for folders of parts: give a name without ending, or a URL")
        paths = [Path(path) for path in data]
        count = _into_a_file(paths, Path(output), reading, how, cache, resume, force)
    else:
        from turnwise.distributed.corpus import embed_corpus

        check_apart(output, data)
        further = {"engine": engine, "actors": actors, "resume": resume, "force": force, **reading.arguments}
        count = embed_corpus(data, output, **asdict(how), **further)
    note(f"Wrote {count:,} embeddings to {output}")


def _into_a_file(
    data: list[Path], output: Path, reading: Reading, how: Embedding, cache: bool, resume: bool, force: bool
) -> int:
    from turnwise.data.reading.files import check_apart
    from turnwise.encoders.vector_files import check_vector_file

    check_vector_file(output, force)
    if output.suffix.lower() == ".npy":  # its other columns go into a second file
        check_apart(output.with_suffix(".jsonl"), data)
    reading.check(data, output)
    encoder_folder(how.model)
    from turnwise.distributed.embedder import rows_of_embedding, settings_of_embedding
    from turnwise.encoders.embed import write_embeddings
    from turnwise.encoders.loading import load_encoder
    from turnwise.encoders.vector_cache import VectorCache, can_be_cached

    conversations = reading.read(data, output)
    encoder = load_encoder(how.model)
    kept = VectorCache(encoder) if cache and how.level in _CACHED and can_be_cached(encoder) else None
    what = settings_of_embedding(encoder, how)
    return write_embeddings(rows_of_embedding(encoder, how, kept), what, conversations, output, resume, force)
