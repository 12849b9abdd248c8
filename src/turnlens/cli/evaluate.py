"""The command that evaluates an encoder: `turnlens evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from turnlens._utils.registries import TASKS, check_task
from turnlens.cli.options import OptionalOutput, Reading, reads_conversations
from turnlens.cli.tables import check_json, print_modes, print_table, write_json
from turnlens.encoders.folders import encoder_folder


@reads_conversations
def evaluate(
    model_and_data: Annotated[list[str], typer.Argument(metavar="[MODEL] DATA")],
    tasks: Annotated[
        list[str] | None,
        typer.Option("--task", help=f"By default semantic-retrieval; may be repeated. Of {', '.join(TASKS)}."),
    ] = None,
    json_file: OptionalOutput = None,
    max_queries: int | None = None,
    label: str = "intent",
    conversation_label: str | None = None,
    pooling: str = "mean",
    seed: int = 0,
    force: bool = False,
    *,
    reading: Reading,
) -> None:
    """Evaluate an encoder on conversations or a released benchmark.

    Figures are percentages, except for ranks and cosines, with 95 % bootstrap intervals.

    Example: `turnlens evaluate model test.jsonl --task semantic-retrieval --output figures.json`

    Options:
        model_and_data: The model (a folder or a Hub name; if left out, the default encoder), then the data.
        json_file: Also write the figures to this JSON file; - means the standard output.
        max_queries: Evaluate at most this many random queries.
        label: Message label that holds the intent.
    """
    model, data = _model_and_data(model_and_data)
    names = [check_task(name) for name in tasks or ["semantic-retrieval"]]
    if not Path(data).exists():
        reading.check(data)
    encoder_folder(model)
    check_json(json_file, force, data)
    from turnlens.encoders.folders import DEFAULT_ENCODER
    from turnlens.encoders.loading import load_encoder
    from turnlens.evaluation import evaluate as run_evaluation

    figures = run_evaluation(
        data,
        encoder=load_encoder(model),
        tasks=names,
        pooling=pooling,
        seed=seed,
        max_queries=max_queries,
        label=label,
        conversation_label=conversation_label,
        read=reading.read,
    )
    if write_json(json_file, {"model": model or DEFAULT_ENCODER, "data": data, "seed": seed, **figures}):
        _print_figures(model or "default encoder", data, names, figures)


def _model_and_data(arguments: list[str]) -> tuple[str | None, str]:
    """The model, if one is given, and the data."""
    if len(arguments) > 2:
        raise ValueError(f"expected [MODEL] DATA, got {len(arguments)} arguments: {' '.join(arguments)}")
    *models, data = arguments
    if (Path(data) / "modules.json").is_file():
        raise ValueError(f"{data} is a model: expected [MODEL] DATA, the conversations are missing")
    return (models[0] if models else None), data


def _print_figures(model: str, data: str, names: list[str], figures: dict[str, Any]) -> None:
    """Print a table for each task on replies, with a line for each way of scoring, and one table for all others."""
    from turnlens.evaluation import find_task

    by_mode = [task for name in dict.fromkeys(names) if (task := find_task(name)).level.name == "reply"]
    for task in by_mode:
        print_modes(f"{data}: {task.name} of {model}", figures[task.key], task.metric)
    shown = {task.key for task in by_mode}
    if others := {key: values for key, values in figures.items() if key not in shown}:
        print_table(data, {model: others})
