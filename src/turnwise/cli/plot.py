"""The commands that draw: `turnwise plot …`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from turnwise.cli.shared import Data, Force, Picture, console, quiet_transformers, read_data

plot = typer.Typer(help="Pictures as PNG files.", no_args_is_help=True)


@plot.command()
def interactions(
    data: Data,
    output: Picture,
    conversation: Annotated[str | None, typer.Option(help="Its id; by default the first of two speakers.")] = None,
    model: Annotated[str | None, typer.Option(help="A folder or a Hub name; by default the default encoder.")] = None,
    window: Annotated[float, typer.Option(help="Turns further apart do not match.")] = 10,
    force: Force = False,
) -> None:
    """Which words of one speaker match which of the other, in one conversation.

    Example: `turnwise plot interactions chats.jsonl --conversation c1 --model dialogue-model --output c1.png`
    """
    quiet_transformers()
    from turnwise._utils.files import check_file
    from turnwise.encoders.loading import load_encoder
    from turnwise.evaluation.plots import plot_interactions

    check_file(output, force)
    for row in read_data(data, "auto", False):
        has_two = len({message["role"] for message in row["messages"]}) > 1
        if row["id"] == conversation or (conversation is None and has_two):
            plot_interactions(load_encoder(model), row["messages"], output, window)
            console.print(f"Wrote {output}")
            return
    raise ValueError(f"found no conversation {conversation!r}" if conversation else "no conversation has two speakers")


@plot.command("alignment-uniformity")
def alignment_uniformity(
    data: Path,
    output: Picture,
    model: Annotated[list[str], typer.Option(help="A folder or a Hub name; repeat in the order of training.")],
    dialogue_label: Annotated[str | None, typer.Option(help="Column with the label of a whole conversation.")] = None,
    force: Force = False,
) -> None:
    """How the distribution of dialogue embeddings moves from one model to the next.

    Example: `turnwise plot alignment-uniformity dev.jsonl --model start --model trained --output moves.png`
    """
    quiet_transformers()
    from turnwise._utils.files import check_file
    from turnwise.encoders.loading import load_encoder
    from turnwise.evaluation import evaluate as run_evaluation
    from turnwise.evaluation.plots import plot_alignment_uniformity

    check_file(output, force)
    points = {}
    for name, shown in _shown(model).items():
        found = run_evaluation(load_encoder(name), data, "alignment-uniformity", dialogue_label=dialogue_label)
        figures: Any = found["alignment_uniformity"]
        points[shown] = (figures["adjusted_alignment"], figures["uniformity"])
    plot_alignment_uniformity(points, output)
    console.print(f"Wrote {output}")


@plot.command()
def additivity(
    data: Path,
    output: Picture,
    model: Annotated[list[str], typer.Option(help="A folder or a Hub name; may be repeated.")],
    turns: Annotated[int, typer.Option(min=2, max=14, help="Turns of the contexts.")] = 10,
    force: Force = False,
) -> None:
    """How much each turn of a context points to what was said next, against what could have been said.

    Example: `turnwise plot additivity test.jsonl --model ccl --model c3l --output additivity.png`
    """
    quiet_transformers()
    from turnwise._utils.files import check_file
    from turnwise.encoders.loading import load_encoder
    from turnwise.evaluation import EmbeddedSequences, evaluate_additivity, load_task
    from turnwise.evaluation.plots import plot_additivity

    check_file(output, force)
    sequences = load_task("additivity", data)
    curves = {}
    for name, shown in _shown(model).items():
        result = evaluate_additivity(EmbeddedSequences(load_encoder(name), sequences), lengths=[turns])
        for mode, lengths in result.by_distance.items():
            curves[f"{shown}, {mode}"] = lengths[turns].tolist()
    plot_additivity(curves, output)
    console.print(f"Wrote {output}")


def _shown(models: list[str]) -> dict[str, str]:
    """A name for each model: the last part of its path, or all of it where models share that."""
    names = {model: Path(model).name for model in models}
    return names if len(set(names.values())) == len(names) else {model: model for model in models}
