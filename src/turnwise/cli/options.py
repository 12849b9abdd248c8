"""The arguments and options of the commands, and how their values are read."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import turnwise


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"turnwise {turnwise.__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and leave.")
]

# What is read
Data = Annotated[
    list[Path],
    typer.Argument(help="Files, folders or globs of conversations; - is the standard input.", show_default=False),
]
DataPath = Annotated[Path, typer.Argument(help="A file or folder of conversations.", show_default=False)]
Format = Annotated[str, typer.Option(help="Source format; by default detected from the content.")]
SkipBadRows = Annotated[bool, typer.Option("--skip-bad-rows", help="Skip bad rows and list them at the end.")]
Split = Annotated[str | None, typer.Option(help="Only conversations whose label `split` is this, such as test.")]
ColumnNames = Annotated[
    str | None,
    typer.Option(
        "--columns",
        help="What the columns hold, such as conversation=ticket_id,speaker=author.type,text=body,time=created_at; "
        "also messages=… (a list of them in each record) and ignore=….",
    ),
]
RedactedKinds = Annotated[
    str | None,
    typer.Option(
        "--redact",
        help="Replace personal data on reading: emails, phones, cards, urls or all of them, names=FILE, persons=MODEL.",
    ),
]
Encoder = Annotated[str | None, typer.Option(help="Encoder to start from: a folder or a Hub name.")]
Model = Annotated[str | None, typer.Option(help="A folder or a Hub name; if left out, the default encoder.")]
ModelArgument = Annotated[str, typer.Argument(help="A folder or a Hub name.", show_default=False)]
ModelAndData = Annotated[
    list[str],
    typer.Argument(
        metavar="[MODEL] DATA",
        help="The model, a folder or a Hub name (if left out, the default encoder), and the data.",
    ),
]

# What is written
OutputFolder = Annotated[Path, typer.Option("--output", "-o", help="Folder to write the model to.")]
ChatFile = Annotated[
    Path,
    typer.Option(
        "--out", "--output", "-o", help="The .jsonl or .jsonl.gz file to write, or - for the standard output."
    ),
]
VectorFile = Annotated[
    Path, typer.Option("--output", "-o", help="The .parquet, .csv or .npy file to write, or - for the standard output.")
]
Picture = Annotated[Path, typer.Option("--output", "-o", help="The .png, .svg or .pdf file to write.")]
FiguresFile = Annotated[
    Path | None,
    typer.Option(
        "--json", "--output", "-o", help="Also write the figures to this JSON file; - is the standard output."
    ),
]
SummaryFile = Annotated[
    Path | None,
    typer.Option("--json", "--output", "-o", help="Also write all counts to this JSON file; - is the standard output."),
]
RankingFile = Annotated[
    Path | None,
    typer.Option(
        "--json",
        "--output",
        "-o",
        help="Also write the utterances and scores to this JSON file; - is the standard output.",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the unfinished run of this output.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output and discard its unfinished run.")]

# Training
Method = Annotated[str | None, typer.Option(help="Training method; by default dialogue-cse.")]
RecipeFile = Annotated[Path | None, typer.Option(help="TOML file with the method and its settings.")]
Assignments = Annotated[list[str] | None, typer.Option("--set", help="Any setting, as name=value; may be repeated.")]
Epochs = Annotated[float | None, typer.Option(help="Number of passes over the data.")]
MaxSteps = Annotated[int | None, typer.Option(help="Number of steps, instead of whole epochs.")]
BatchSize = Annotated[int | None, typer.Option(help="Number of rows per batch.")]
LearningRate = Annotated[float | None, typer.Option(help="Peak learning rate.")]
SampleSize = Annotated[int, typer.Option(min=50, help="Number of conversations to generate.")]
DemoSteps = Annotated[int, typer.Option(min=1, help="Number of training steps.")]
Seed = Annotated[int, typer.Option(help="Seed for everything random.")]
RecipeSeed = Annotated[int | None, typer.Option(help="Seed for everything random.")]
Validation = Annotated[
    Path | None,
    typer.Option(help="Keep the best step on these conversations or this released file; by default the last step."),
]
ValidationTask = Annotated[
    str | None,
    typer.Option(
        "--task",
        help="Evaluation task to validate by; by default semantic-retrieval, for methods of whole dialogues "
        "dialogue-retrieval, for those of the order of turns next-utterance.",
    ),
]

# Embedding and evaluation
Level = Annotated[
    Literal["utterance", "dialogue"], typer.Option(help="One vector for each message, or for each conversation.")
]
Pooling = Annotated[
    str,
    typer.Option(help="How to pool whole conversations: mean, interlocutor, messages, or speaker:ROLE."),
]
Tasks = Annotated[
    list[str] | None, typer.Option("--task", help="Evaluation task, may be repeated; by default semantic-retrieval.")
]
MaxQueries = Annotated[int | None, typer.Option(help="Evaluate at most this many random queries.")]
Label = Annotated[str, typer.Option(help="Message label that holds the intent.")]
ValidationLabel = Annotated[
    str | None, typer.Option("--label", help="Message label that holds the intent.", show_default="intent")
]
DialogueLabel = Annotated[str | None, typer.Option(help="Column that holds the label of each conversation.")]

# Plots
ConversationId = Annotated[
    str | None, typer.Option("--conversation", help="Its id; by default the first with at least two speakers.")
]
Window = Annotated[float, typer.Option(help="Turns further apart than this do not match.")]
DotProducts = Annotated[bool, typer.Option("--dot-products", help="Inner products as in the paper, not cosines.")]
ModelsInOrder = Annotated[
    list[str], typer.Option("--model", help="A folder or a Hub name; repeat it in the order of training.")
]
Models = Annotated[list[str], typer.Option("--model", help="A folder or a Hub name; may be repeated.")]
ContextTurns = Annotated[int, typer.Option("--turns", min=2, max=14, help="Number of turns in each context.")]

# Replies
ConversationFile = Annotated[
    Path, typer.Option("--conversation", help="A file of conversations, the first of which is taken.")
]
OtherId = Annotated[str | None, typer.Option("--id", help="Take the conversation with this id instead.")]
_CANDIDATES = typer.Option("--candidates", help="A .txt file with one utterance per line, or a file of conversations.")
Candidates = Annotated[Path, _CANDIDATES]
GivenCandidates = Annotated[Path | None, _CANDIDATES]
Generator = Annotated[
    str | None,
    typer.Option(help="A causal language model that generates the candidates instead: a folder or a Hub name."),
]
PlanningGenerator = Annotated[
    str | None,
    typer.Option(
        "--generator",
        help="For short-term-planning: a causal language model that generates the candidates, a folder or a Hub name. "
        "What it generated is kept. By default they are drawn from other conversations.",
    ),
]
Number = Annotated[int, typer.Option(min=1, help="Number of candidates to generate.")]
Top = Annotated[int, typer.Option(min=1, help="Number of utterances to show.")]
Mode = Annotated[
    str | None,
    typer.Option(help="composed, average, max, bi or joined; by default the first of these that the model serves."),
]
LastRows = Annotated[int | None, typer.Option(help="Average only pairs that include one of this many last turns.")]
EmbeddingsFile = Annotated[
    Path | None, typer.Option("--embeddings", help="Keep the candidates' embeddings in this .npy file for next time.")
]
Half = Annotated[bool, typer.Option("--half", help="Keep these embeddings in half precision.")]
Goal = Annotated[str, typer.Option(help="What should be said a few turns later.")]
Speaker = Annotated[
    str | None,
    typer.Option(help="Who speaks next; by default whoever spoke before the last speaker.", show_default=False),
]
GoalSpeaker = Annotated[
    str | None, typer.Option(help="Who says the goal; by default whoever speaks next.", show_default=False)
]


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given; the others are ``None``."""
    return {name: value for name, value in options.items() if value is not None}


def parse_settings(assignments: list[str]) -> dict[str, Any]:
    """``name=value`` with TOML values; a bare word is text, but for ``none``, which is no value.

    Raises:
        ValueError: An assignment has no ``=``.
    """
    settings = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise ValueError(f"--set {assignment}: expected name=value, such as --set temperature=0.05")
        try:
            settings[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            settings[name.strip()] = None if value == "none" else value
    return settings
