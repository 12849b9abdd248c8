"""The command that makes a smaller encoder from a larger one: `turnwise model distill`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from turnwise._utils.progress import console, note
from turnwise.cli.options import ConversationLabel, Force, Label, MaxQueries, ModelArgument, OutputFolder, Seed
from turnwise.cli.reading import Reading, reads_conversations
from turnwise.cli.tables import print_table
from turnwise.cli.terminal import quiet_transformers

if TYPE_CHECKING:
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer

_COMPARED = 2000  # distinct messages, whose cosines take 64 MB


@reads_conversations
def distill(
    model: ModelArgument,
    output: OutputFolder,
    reading: Reading,
    data: Annotated[
        list[Path] | None,
        typer.Argument(help="Files, folders or globs of conversations to compare on.", show_default=False),
    ] = None,
    to: Annotated[
        Literal["static"], typer.Option("--to", help="The kind of encoder to make from the model.")
    ] = "static",
    dimensions: Annotated[int, typer.Option("--dimensions", min=1, help="Length of the static vectors.")] = 256,
    tasks: Annotated[
        list[str] | None,
        typer.Option("--task", help="Task on labels to compare both encoders on; may be repeated. By default none."),
    ] = None,
    max_queries: MaxQueries = None,
    label: Label = "intent",
    conversation_label: ConversationLabel = None,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Distill a static encoder from a model, with one fixed vector for each token: a first pass over very large logs.

    If you give conversations, the command reports how much is lost: how well both encoders agree on them and, with
    --task, how well each of them does on their labels.

    Example: `turnwise model distill model test.jsonl --to static --task semantic-retrieval --output static`
    """
    quiet_transformers()
    from turnwise._utils.files import check_folder
    from turnwise.encoders.loading import load_encoder
    from turnwise.encoders.static import distill as make_static
    from turnwise.evaluation import evaluate

    if tasks and not data:
        raise ValueError("--task needs conversations: turnwise model distill MODEL DATA --task …")
    check_folder(output, force)
    conversations = reading.read(data, output) if data else None
    teacher = load_encoder(model)
    static = make_static(teacher, dimensions=dimensions, output=output, force=force)
    note(f"Wrote {output}")
    if conversations is not None:
        rows = {"static": {"agreement": _agreement(teacher, static, conversations, seed)}}
        print_table(f"static against {model}, without labels", rows)
    if conversations is not None and tasks:
        settings: dict[str, Any] = {
            "seed": seed,
            "max_queries": max_queries,
            "label": label,
            "conversation_label": conversation_label,
        }
        figures = {
            name: evaluate(conversations, encoder=encoder, tasks=tasks, **settings)
            for name, encoder in ((model, teacher), ("static", static))
        }
        print_table("with labels", figures)


def _agreement(
    teacher: SentenceTransformer, static: SentenceTransformer, conversations: Dataset, seed: int
) -> dict[str, Any]:
    """The figures of `agreement` on some messages, and how much faster the static encoder is on them."""
    from turnwise.encoders.messages import encode_messages
    from turnwise.evaluation.agreement import agreement, sample_texts

    said = (message["content"] for messages in conversations["messages"] for message in messages)
    texts = sample_texts(said, _COMPARED, seed)
    encode_messages(static, texts[:100])  # a first call takes longer
    start = time.process_time()
    taught = encode_messages(teacher, texts, show_progress_bar=True)
    between = time.process_time()
    distilled = encode_messages(static, texts)
    ratio = (between - start) / (time.process_time() - between)
    console.print(f"{ratio:.0f} times as fast in processor time")
    return agreement(taught, distilled)
