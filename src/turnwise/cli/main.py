"""The command line: parse, call, print."""

from __future__ import annotations

import logging
import os
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.logging import RichHandler

from turnwise.cli.bench import bench
from turnwise.cli.plot import plot
from turnwise.cli.reply import plan, reply
from turnwise.cli.shared import (
    BatchSize,
    Commands,
    Data,
    Encoder,
    Epochs,
    Force,
    FormatName,
    LearningRate,
    MaxSteps,
    OutputFolder,
    Pooling,
    Resume,
    Seed,
    SkipBad,
    console,
    error_console,
    given,
    on_error,
    parse_settings,
    print_modes,
    print_table,
    quiet_transformers,
    read_data,
    write_json,
)

app = typer.Typer(
    cls=Commands,
    help="Learn embeddings from conversations without labels, and put them to work.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(plot, name="plot")


@app.command()
def demo(
    output: OutputFolder = Path("demo-output"),
    conversations: Annotated[int, typer.Option(min=50, help="Conversations to generate.")] = 1500,
    max_steps: Annotated[int, typer.Option(min=1, help="Training steps.")] = 120,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Run the main job on generated conversations: read, train without labels, evaluate, write the model.

    Example: `turnwise demo --output demo-output`
    """
    quiet_transformers()
    from turnwise.experiments.demo import run_demo

    before, after, p = run_demo(output, conversations, max_steps, seed, force)
    print_table(
        "Intent retrieval on held-out sample conversations",
        {"untouched": {"semantic_retrieval": before.summary()}, "DialogueCSE": {"semantic_retrieval": after.summary()}},
    )
    console.print(f"Paired bootstrap over queries: p = {p:.4f}. The model: {output / 'model'}")


@app.command()
def convert(
    sources: Data,
    output: Annotated[Path, typer.Option("--out", "--output", "-o", help="A .jsonl or .jsonl.gz file.")],
    format: FormatName = "auto",
    skip_bad_rows: SkipBad = False,
    force: Force = False,
) -> None:
    """Write conversations of any known format as chat JSONL.

    Example: `turnwise convert dialogues_*.json --format sgd --out chats.jsonl.gz`
    """
    from turnwise.data.conversations import convert_conversations

    count = convert_conversations(sources, output, format, on_error(skip_bad_rows), force)
    console.print(f"Wrote {count:,} conversations to {output}")


@app.command()
def adapt(
    data: Data,
    output: OutputFolder,
    encoder: Encoder = None,
    epochs: Epochs = None,
    max_steps: MaxSteps = None,
    batch_size: BatchSize = None,
    learning_rate: LearningRate = None,
    seed: Seed = 0,
    format: FormatName = "auto",
    skip_bad_rows: SkipBad = False,
    resume: Resume = False,
    force: Force = False,
) -> None:
    """Continue to pre-train an encoder as a masked language model on conversations.

    Example: `turnwise adapt chats.jsonl --epochs 0.5 --output adapted`
    """
    quiet_transformers()
    from turnwise.training.recipes import Adaptation
    from turnwise.training.train import adapt_and_save

    flags = {"epochs": epochs, "max_steps": max_steps, "batch_size": batch_size, "learning_rate": learning_rate}
    settings = Adaptation(seed=seed, **given(flags))
    adapt_and_save(settings, read_data(data, format, skip_bad_rows), encoder, output, resume, force)
    console.print(f"Wrote {output}")


@app.command()
def train(
    data: Data,
    output: OutputFolder,
    method: Annotated[str | None, typer.Option(help="Method; by default dialogue-cse.")] = None,
    recipe: Annotated[Path | None, typer.Option(help="TOML file with the method and its settings.")] = None,
    set: Annotated[list[str] | None, typer.Option(help="Any setting, as name=value; may be repeated.")] = None,
    encoder: Encoder = None,
    epochs: Epochs = None,
    max_steps: MaxSteps = None,
    batch_size: BatchSize = None,
    learning_rate: LearningRate = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random.")] = None,
    format: FormatName = "auto",
    skip_bad_rows: SkipBad = False,
    resume: Resume = False,
    force: Force = False,
) -> None:
    """Train an encoder of utterances or of whole dialogues on conversations, without labels.

    Example: `turnwise train chats.jsonl --method dialogue-cse --set temperature=0.05 --max-steps 500 --output model`
    """
    quiet_transformers()
    from turnwise.training.recipes import get_recipe, read_recipe
    from turnwise.training.train import train as run_training

    name, settings = read_recipe(recipe) if recipe is not None else ("dialogue-cse", {})
    flags = {"epochs": epochs, "max_steps": max_steps, "batch_size": batch_size}
    settings |= given({**flags, "learning_rate": learning_rate, "seed": seed}) | parse_settings(set or [])
    chosen = get_recipe(method or name, settings)
    run_training(chosen, read_data(data, format, skip_bad_rows), encoder, output, resume, force)
    console.print(f"Wrote {output}")


@app.command()
def embed(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="The Parquet file to write.")],
    model: Annotated[str | None, typer.Option(help="A folder or a Hub name; by default the default encoder.")] = None,
    level: Annotated[
        Literal["utterance", "dialogue"], typer.Option(help="A vector for each message, or each conversation.")
    ] = "utterance",
    pooling: Pooling = "mean",
    format: FormatName = "auto",
    skip_bad_rows: SkipBad = False,
    resume: Resume = False,
    force: Force = False,
) -> None:
    """Embed every message (a Parquet file with id, turn, role, text, vector) or whole conversations (id, vector).

    Example: `turnwise embed chats.jsonl --model model --output vectors.parquet`
    """
    quiet_transformers()
    from turnwise.encoders.embed import embed_messages, embed_whole, write_embeddings
    from turnwise.encoders.loading import encoder_source, load_encoder, weights_digest

    conversations = read_data(data, format, skip_bad_rows)
    encoder = load_encoder(model)
    embed_rows = partial(embed_whole, encoder, pooling) if level == "dialogue" else partial(embed_messages, encoder)
    what = {"encoder": encoder_source(encoder), "weights": weights_digest(encoder), "level": level, "pooling": pooling}
    count = write_embeddings(embed_rows, what, conversations, output, resume, force)
    console.print(f"Wrote {count:,} embeddings to {output}")


@app.command()
def evaluate(
    model_and_data: Annotated[
        list[str], typer.Argument(metavar="[MODEL] DATA", help="The model may be left out: the default encoder.")
    ],
    task: Annotated[
        list[str] | None, typer.Option(help="Task, may be repeated; by default semantic-retrieval.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", "--output", "-o", help="Write the figures here.")] = None,
    max_queries: Annotated[int | None, typer.Option(help="A random sample of so many queries.")] = None,
    label: Annotated[str, typer.Option(help="Message label that holds the intent.")] = "intent",
    dialogue_label: Annotated[str | None, typer.Option(help="Column with the label of a whole conversation.")] = None,
    pooling: Pooling = "mean",
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Evaluate an encoder on conversations or a released benchmark; figures in percent but for ranks, 95 % intervals.

    Example: `turnwise evaluate model test.jsonl --task semantic-retrieval --json figures.json`
    """
    quiet_transformers()
    from turnwise._utils.files import check_file
    from turnwise.encoders.loading import DEFAULT_ENCODER, load_encoder
    from turnwise.evaluation import TASKS
    from turnwise.evaluation import evaluate as run_evaluation

    if json_file is not None:
        check_file(json_file, force)
    if len(model_and_data) > 2:
        raise ValueError(f"expected [MODEL] DATA, got {len(model_and_data)} arguments: {' '.join(model_and_data)}")
    *models, data = model_and_data
    model = models[0] if models else None
    if (Path(data) / "modules.json").is_file():
        raise ValueError(f"{data} is a model: expected [MODEL] DATA, the conversations are missing")
    figures = run_evaluation(
        load_encoder(model),
        data,
        task or ["semantic-retrieval"],
        pooling=pooling,
        seed=seed,
        max_queries=max_queries,
        label=label,
        dialogue_label=dialogue_label,
    )
    if json_file is not None:
        write_json(json_file, {"model": model or DEFAULT_ENCODER, "data": data, "seed": seed, **figures})
    shown = model or "default encoder"
    by_mode = {done.key: done for done in TASKS.values() if done.level.name == "turn-order" and done.key in figures}
    for key, done in by_mode.items():
        modes: dict[str, Any] = figures[key]
        print_modes(f"{data}: {done.name} of {shown}", modes, done.metric)
    if others := {key: found for key, found in figures.items() if key not in by_mode}:
        print_table(data, {shown: others})


app.command()(bench)
app.command()(reply)
app.command()(plan)


def main() -> None:
    """Entry point of the console script."""
    handler = RichHandler(logging.WARNING, error_console, show_time=False, show_path=False)
    logging.basicConfig(format="%(message)s", handlers=[handler])
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if not error_console.is_terminal:
        os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    app()
