"""The commands that draw: `turnlens papers plot …`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from turnlens._utils.progress import note
from turnlens.cli.options import ConversationLabel, Data, Force, Model
from turnlens.cli.reading_options import Reading, reads_conversations
from turnlens.cli.terminal import Application, quiet_transformers

DataPath = Annotated[Path, typer.Argument(help="A file or folder of conversations.", show_default=False)]
Picture = Annotated[Path, typer.Option("--output", "-o", help="The .png, .svg or .pdf file to write.")]

plot = Application(help="Draw plots as PNG, SVG or PDF; the ending of the file name decides.", no_args_is_help=True)


@plot.command()
@reads_conversations
def interactions(
    data: Data,
    output: Picture,
    conversation: Annotated[
        str | None,
        typer.Option("--conversation", help="Id of the conversation; by default the first with at least two speakers."),
    ] = None,
    model: Model = None,
    window: Annotated[float, typer.Option(help="Greatest distance between two turns that may match.")] = 10,
    dot_products: Annotated[
        bool, typer.Option("--dot-products", help="Use inner products, as in the paper, instead of cosines.")
    ] = False,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Show which words of one speaker match which words of the other in one conversation.

    Example: `turnlens papers plot interactions chats.jsonl --conversation c1 --model conversation-model --output
        c1.png`
    """
    quiet_transformers()
    from turnlens.encoders.loading import load_encoder
    from turnlens.papers.dial2vec.plots import check_picture, plot_interactions

    check_picture(output, force)
    messages = _messages_to_draw(reading.read(data), conversation)
    plot_interactions(load_encoder(model), messages, output, window, dot_products)
    note(f"Wrote {output}")


@plot.command("alignment-uniformity")
@reads_conversations
def alignment_uniformity(
    data: DataPath,
    output: Picture,
    models: Annotated[
        list[str], typer.Option("--model", help="A folder or a Hub name; repeat it in the order of training.")
    ],
    conversation_label: ConversationLabel = None,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Show how the distribution of conversation embeddings moves from one model to the next.

    Example: `turnlens papers plot alignment-uniformity dev.jsonl --model start --model trained --output moves.png`
    """
    quiet_transformers()
    from turnlens.encoders.loading import load_encoder
    from turnlens.evaluation import evaluate as run_evaluation
    from turnlens.papers.dial2vec.plots import check_picture, plot_alignment_uniformity

    check_picture(output, force)
    points = {}
    for model, name in _names(models).items():
        results = run_evaluation(
            data,
            encoder=load_encoder(model),
            tasks="alignment-uniformity",
            conversation_label=conversation_label,
            read=reading.read,
        )
        figures: Any = results["alignment_uniformity"]
        points[name] = (figures["adjusted_alignment"], figures["uniformity"])
    plot_alignment_uniformity(points, output)
    note(f"Wrote {output}")


@plot.command()
@reads_conversations
def additivity(
    data: DataPath,
    output: Picture,
    models: Annotated[list[str], typer.Option("--model", help="A folder or a Hub name; may be repeated.")],
    turns: Annotated[int, typer.Option("--turns", min=2, max=14, help="Number of turns in each context.")] = 10,
    force: Force = False,
    *,
    reading: Reading,
) -> None:
    """Show how much each turn of a context points to the actual next message rather than to other messages.

    Example: `turnlens papers plot additivity test.jsonl --model ccl --model c3l --output additivity.png`
    """
    quiet_transformers()
    from turnlens.encoders.loading import load_encoder
    from turnlens.evaluation import load_task
    from turnlens.papers.dial2vec.plots import check_picture, plot_additivity
    from turnlens.papers.next_message.sequences import EmbeddedSequences
    from turnlens.papers.triple_encoders.additivity import evaluate_additivity

    check_picture(output, force)
    sequences = load_task("additivity", data, read=reading.read)
    curves = {}
    for model, name in _names(models).items():
        result = evaluate_additivity(EmbeddedSequences(load_encoder(model), sequences), lengths=[turns])
        for mode, lengths in result.by_distance.items():
            curves[f"{name}, {mode}"] = lengths[turns].tolist()
    plot_additivity(curves, output)
    note(f"Wrote {output}")


def _messages_to_draw(rows: Iterable[dict[str, Any]], id: str | None) -> list[dict[str, Any]]:
    """The messages of the conversation with this id, by default of the first with at least two speakers."""
    for row in rows:
        messages: list[dict[str, Any]] = row["messages"]
        if row["id"] == id or (id is None and len({message["role"] for message in messages}) > 1):
            return messages
    raise ValueError(f"found no conversation {id!r}" if id is not None else "found no conversation of two speakers")


def _names(models: list[str]) -> dict[str, str]:
    """A name for each model: the last part of its path, or all of it where models share that."""
    names = {model: Path(model).name for model in models}
    return names if len(set(names.values())) == len(names) else {model: model for model in models}
