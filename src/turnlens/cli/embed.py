"""The command that embeds conversations: `turnlens embed`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from turnlens._utils.files import is_url
from turnlens._utils.progress import note
from turnlens.cli.options import Reading, reads_conversations
from turnlens.encoders.folders import encoder_folder


@reads_conversations
def embed(
    data: list[str],
    output: Annotated[str, typer.Option("--output", "-o")],
    reading: Reading,
    model: str | None = None,
    level: Literal["message", "message-with-history", "message-in-context", "conversation"] = "message",
    pooling: str = "mean",
    dtype: Literal["bfloat16", "float16"] | None = None,
    cache: bool = True,
    engine: Literal["local", "ray"] = "local",
    actors: Annotated[int | None, typer.Option(min=1)] = None,
    resume: bool = False,
    force: bool = False,
) -> None:
    """Embed every message, or every conversation as a whole.

    With --level message-with-history, "Yes, please." is close to what it answers; embedded alone, it is close to
    other answers. These vectors are sums of message vectors, so each message is embedded only once for both levels.
    With --level message-in-context, each conversation is read once more, and the vectors also reflect what was said
    afterwards.

    The columns are id, turn, role, text and vector, or only id and vector for whole conversations. They are written to
    a .parquet or .csv file, or as JSON lines to the standard output. A .npy file holds only the vectors; the other
    columns go into a .jsonl file beside it. A large corpus goes into a folder of Parquet parts, which several processes
    can write together; with --resume, conversations that were added to the corpus are embedded too.

    Example: `turnlens embed chats.jsonl --model model --output vectors.parquet`

    Example: `turnlens embed chats.jsonl --level message-with-history --output history.parquet`

    Example: `turnlens embed "s3://logs/*.parquet" --engine ray --output s3://logs-embedded`

    Options:
        data: Files, folders, globs or URLs (such as s3://…) of conversations; - means the standard input.
        output: The .parquet, .csv or .npy file to write; - means the standard output. A name without an ending, or a
            URL, is written as a folder of Parquet parts.
        level: One vector for each message (alone, with what was said before it, or with everything said around it), or
            one for each conversation.
        dtype: Compute in half precision, which is several times faster on hardware made for it; by default in full.
        engine: For folders of parts: compute in this process, or on a Ray cluster (by default one on this machine).
        actors: Number of Ray processes that embed; by default one for each GPU, or one for every four CPUs.
    """
    from turnlens.formats.input_files import check_apart
    from turnlens.scale.job import Embedding
    from turnlens.scale.output import is_folder_name

    Embedding(model, level, pooling, dtype)  # raises errors before anything is read
    settings: dict[str, Any] = {"level": level, "pooling": pooling, "dtype": dtype, "resume": resume, "force": force}
    if is_folder_name(output):
        from turnlens.scale.embed import embed_corpus

        check_apart(output, data)
        further: dict[str, Any] = {"engine": engine, "actors": actors, **reading.arguments}
        count = embed_corpus(data, output=output, encoder=model, **settings, **further)
    else:
        if engine == "ray" or any(map(is_url, data)):
            subject = "--engine ray is" if engine == "ray" else "URLs are"
            raise ValueError(f"{output}: {subject} for folders of parts: give a name without ending, or a URL")
        from turnlens.encoders.vector_files import check_vector_file

        files, target = [Path(path) for path in data], Path(output)
        check_vector_file(target, force, files)
        reading.check(files, target)
        encoder_folder(model)
        conversations = reading.read(files, target)
        from turnlens.scale.embed import embed as embed_conversations

        count = embed_conversations(conversations, encoder=model, cache=cache, output=output, **settings)
    note(f"Wrote {count:,} embeddings to {output}")
