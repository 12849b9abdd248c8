"""The commands that train: `turnlens demo` and `turnlens train`."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from turnlens._utils.files import check_folder, is_standard
from turnlens._utils.progress import console, note
from turnlens._utils.registries import (
    DEFAULT_METHOD,
    METHODS,
    SETTINGS,
    LevelName,
    check_method,
    check_settings,
    check_task,
)
from turnlens.cli.explore import write_sample_report
from turnlens.cli.options import Output, Reading, given, parse_settings, reads_conversations
from turnlens.cli.tables import print_rows, print_table
from turnlens.cli.terminal import tell_other_language
from turnlens.encoders.folders import encoder_folder

if TYPE_CHECKING:
    from turnlens.evaluation import RetrievalResult, TaskEvaluator
    from turnlens.training.recipes import Recipe


_VALIDATION_TASKS: dict[LevelName, str] = {
    "message": "semantic-retrieval",
    "conversation": "conversation-retrieval",
    "reply": "next-message",
}

# What `--set` takes besides the settings of a method: the task that chooses the best step.
_VALIDATION = ("validation", "task", "label", "conversation_label", "max_queries")


def demo(
    output: Output = Path("demo-output"),
    conversations: Annotated[int, typer.Option(min=50)] = 300,
    max_steps: Annotated[int, typer.Option(min=1)] = 8,
    seed: int = 0,
    force: bool = False,
) -> None:
    """Run the whole job on generated conversations: read, train without labels, evaluate, and write a report of topics.

    Example: `turnlens demo --output demo-output`

    Options:
        conversations: Number of conversations to generate.
        max_steps: Number of training steps.
    """
    from turnlens.cli.demo_job import run_demo

    began = time.monotonic()
    before, after, p = run_demo(output, conversations, max_steps, seed, force)
    _tell(output / "model", time.monotonic() - began)
    rows = {"untouched": {"semantic_retrieval": before.summary()}, "trained": {"semantic_retrieval": after.summary()}}
    print_table("Intent retrieval on held-out sample conversations, messages unseen in training", rows)
    write_sample_report(output)
    console.print(
        f"\nIntents of unseen messages, mean average precision: {_with_interval(before)} before training, "
        f"{_with_interval(after)} after it (95 % intervals; paired bootstrap, p = {p:.4f}).",
        soft_wrap=True,
    )
    console.print(f"The model: {output / 'model'}", soft_wrap=True)
    program = sys.argv[0] if Path(sys.argv[0]).name == "turnlens" and not shutil.which("turnlens") else "turnlens"
    console.print(f"The page to open in a browser: {output / 'report' / 'index.html'}", soft_wrap=True)
    console.print(f'Next: {program} search {output / "conversations.store"} "my card was stolen"', soft_wrap=True)
    console.print(f"Next, your own file: {program} inspect chats.jsonl", soft_wrap=True)


def _with_interval(result: RetrievalResult) -> str:
    low, high = result.map_interval
    return f"{result.map:.1f} ({low:.1f} to {high:.1f})"


@reads_conversations
def train(
    data: list[Path],
    output: Output,
    method: Annotated[
        str | None,
        typer.Option(
            help=f"By default {DEFAULT_METHOD}; a TOML file with the method and its settings; or one of "
            + ", ".join(f"{name} ({METHODS.about(name)})" if METHODS.about(name) else name for name in METHODS)
            + "."
        ),
    ] = None,
    encoder: str | None = None,
    max_steps: int | None = None,
    seed: int | None = None,
    assignments: Annotated[list[str] | None, typer.Option("--set")] = None,
    engine: Literal["local", "ray"] = "local",
    resume: bool = False,
    force: bool = False,
    *,
    reading: Reading,
) -> None:
    """Fit an encoder to your conversations, without labels, and show on some of them whether it became better.

    Example: `turnlens train chats.jsonl --output model`

    Options:
        encoder: Encoder to start from: a folder or a Hub name; by default the one that ships, turnlens/encoder.
        max_steps: Number of steps, instead of whole epochs.
        assignments: Any other setting, as name=value; may be repeated. Such as epochs, batch_size, learning_rate and
            keep_anyway of the method; preset=paper, the settings of its paper; validation=FILE, data to choose the best
            step by, with task, label, conversation_label and max_queries as for evaluate; workers, of Ray.
        engine: Train in this process (or those of torchrun), or on a Ray cluster (by default one on this machine).
    """
    settings = parse_settings(assignments or [])
    preset, workers = settings.pop("preset", None), settings.pop("workers", None)
    options = {name: settings.pop(name) for name in _VALIDATION if name in settings}
    validation = Path(str(options.pop("validation"))) if "validation" in options else None
    is_file = method is not None and method.endswith(".toml")
    if method is not None and not is_file:
        check_method(method)
    name = method or DEFAULT_METHOD
    check_settings(settings, SETTINGS.get(name, [*settings]), name)  # those of extensions are checked by their recipes
    if options and validation is None:
        raise ValueError(
            f"{', '.join(options)} without validation: add --set validation=FILE, data to choose the best step by"
        )
    if "task" in options:
        check_task(options["task"])
    if type(options.get("max_queries", 1)) is not int:
        raise ValueError(f"max_queries must be a whole number, got {options['max_queries']!r}")
    if workers is not None and (type(workers) is not int or workers < 1):
        raise ValueError(f"workers must be a whole number, 1 or more, got {workers!r}")
    reading.check(data, output)
    if validation is not None and not validation.exists():
        reading.check(validation)
    check_folder(output, force)
    encoder_folder(encoder)
    flags = given({"max_steps": max_steps, "seed": seed})
    chosen = _recipe(method, is_file, preset, flags | settings)

    def work(resume: bool) -> None:
        from turnlens.encoders.embed import holds_vectors
        from turnlens.training.train import train as run_training

        evaluator = _evaluator(validation, chosen, options, reading)
        vectors = data[0] if len(data) == 1 and holds_vectors(data[0]) else None
        conversations = vectors or reading.read(data, output)
        if vectors is None and encoder is None:
            tell_other_language(reading.read(data), f"turnlens train {data[0]} --encoder")
        kept: dict[str, Any] = {"output": output, "resume": resume, "force": force}
        run_training(conversations, method=chosen, encoder=encoder, evaluator=evaluator, **kept)

    note(f"Starting from {encoder or chosen.starts_from}.")
    began = time.monotonic()
    if engine == "ray":
        from turnlens.scale.ray_training import train_on_ray

        _check_for_workers(chosen, data)
        train_on_ray(work, workers, resume)
    else:
        work(resume)
    _tell(output, time.monotonic() - began)
    note(f"Wrote {output}. Next: {_next_command(chosen, reading.command_line(data), output)}")


def _check_for_workers(recipe: Recipe, data: list[Path]) -> None:
    if recipe.one_process:
        raise ValueError("this method runs in one process: leave --engine ray out, or use --method in-context")
    if any(map(is_standard, data)):
        raise ValueError("-: the standard input cannot be read by several workers; give files")


def _tell(output: Path, seconds: float) -> None:
    """Print the training's record: what was left out and why, the steps, and the first and last loss."""
    path = output / "training.json"
    if not path.is_file():  # only one of several processes writes it
        return
    record = json.loads(path.read_text(encoding="utf-8"))
    if "kept" in record:
        reasons = [f"{count:,} {reason}" for reason, count in record["left_out"].items()]
        total = record["kept"] + sum(record["left_out"].values())
        note(f"Learned from {record['kept']:,} of {total:,} conversations; left out: {', '.join(reasons) or 'none'}.")
    if losses := record.get("loss"):
        shown = losses[:1] + losses[1:][-1:]
        fell = ", ".join(f"{loss['loss']:.3f} at step {loss['step']:,}" for loss in shown)
        note(f"{record.get('steps', shown[-1]['step']):,} steps in {timedelta(seconds=round(seconds))}; loss {fell}.")
    if "held_out" in record:
        from turnlens.training.model_card import TrainingReport

        report = TrainingReport(record)
        print_rows(["", "before", "after", "difference"], report.rows(), report.title)
        shares = " and ".join(f"{share:g} × {_LEARNED[step]}" for step, share in record["learned"].items())
        note(f"The weights are the earlier ones plus {shares}, best for these conversations." if shares else _KEPT)
        if record.get("projected"):
            note("Vectors are projected besides, so that messages are alike if what is said around them is alike, too.")


_LEARNED = {"answers": "what the answers to requests taught", "context": "what the context of messages taught"}
_KEPT = (
    "Training did not improve these conversations beyond chance, or made groups less stable, so the encoder keeps "
    "its earlier weights: either it already suits them, or there is too little to learn from. --set "
    "keep_anyway=true keeps what was learned."
)


def _next_command(recipe: Recipe, data: str, output: Path) -> str:
    """The command that most users will run next with a new model."""
    model = shlex.quote(str(output))
    if recipe.citation:  # the method of a paper, which is trained to be compared
        return f"turnlens evaluate {model} test.jsonl --task {_VALIDATION_TASKS[recipe.level]}"
    if recipe.level == "reply":
        return f"turnlens reply {model} --candidates replies.txt --conversation chat.jsonl"
    return f"turnlens embed {data} --model {model} --output vectors.parquet"


def _recipe(method: str | None, is_file: bool, preset: str | None, settings: dict[str, Any]) -> Recipe:
    """The recipe of a method, or of a file some of whose settings are changed."""
    from turnlens.training.recipes import get_recipe, read_recipe

    name, of_file, its_preset = read_recipe(method) if is_file and method else (method or DEFAULT_METHOD, {}, None)
    return get_recipe(name, settings=of_file | settings, preset=preset or its_preset)


def _evaluator(data: Path | None, recipe: Recipe, options: dict[str, Any], reading: Reading) -> TaskEvaluator | None:
    """The task that chooses the best step, on validation data that is read here, before training starts."""
    if data is None:
        return None
    from turnlens.evaluation import TaskEvaluator

    task = options.pop("task", _VALIDATION_TASKS[recipe.level])
    return TaskEvaluator(task, data, seed=recipe.seed, read=reading.read, **options)
