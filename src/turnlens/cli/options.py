"""Options of several commands: those declared as fields of a dataclass, single ones, and how values are read."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

# What is read
Data = Annotated[
    list[Path],
    typer.Argument(help="Files, folders or globs of conversations; - means the standard input.", show_default=False),
]
Model = Annotated[str | None, typer.Option(help="A folder or a Hub name; if left out, the default encoder.")]
StoreModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="A folder or a Hub name; if left out, that of the store or of the groups, if there is one, or else the "
        "default encoder.",
    ),
]
ModelArgument = Annotated[str, typer.Argument(help="A folder or a Hub name.", show_default=False)]

# What is written
OutputFolder = Annotated[Path, typer.Option("--output", "-o", help="Folder to write the model to.")]
ChatFile = Annotated[
    Path, typer.Option("--output", "-o", help="The .jsonl or .jsonl.gz file to write; - means the standard output.")
]
RankingFile = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Also write the messages and scores to this JSON file; - means the standard output."
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the unfinished run of this output.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output and discard its unfinished run.")]

# Training
Seed = Annotated[int, typer.Option(help="Seed for everything random.")]

# Embedding and evaluation
Pooling = Annotated[
    str, typer.Option(help="How to pool whole conversations: mean, interlocutor, messages, or speaker:ROLE.")
]
Cache = Annotated[
    bool,
    typer.Option(
        help="Keep the vectors of messages on disk, so that a model embeds no text twice. Not used for folders."
    ),
]
MaxQueries = Annotated[int | None, typer.Option(help="Evaluate at most this many random queries.")]
Label = Annotated[str, typer.Option(help="Message label that holds the intent.")]
ConversationLabel = Annotated[str | None, typer.Option(help="Column that holds the label of each conversation.")]

# Replies
ConversationFile = Annotated[
    Path, typer.Option("--conversation", help="A file of conversations; the first one is used.")
]
OtherId = Annotated[str | None, typer.Option("--id", help="Use the conversation with this id instead.")]
Candidates = Annotated[
    Path | None, typer.Option("--candidates", help="A .txt file with one message per line, or a file of conversations.")
]
Top = Annotated[int, typer.Option(min=1, help="Number of messages to show.")]
Speaker = Annotated[
    str | None,
    typer.Option(help="Who speaks next; by default the person who spoke before the last speaker.", show_default=False),
]

# Stores
Where = Annotated[
    str | None, typer.Option(help="A filter, such as: role = 'user' and label.intent in ('refund', 'cancel').")
]
OwnLabel = Annotated[
    str | None,
    typer.Option(
        "--label",
        help="A label of yours, of messages or of conversations: say how far the groups agree with it.",
        show_default=False,
    ),
]
GROUP_TABLE = typer.Option(
    "--output",
    "-o",
    help="The .parquet, .csv, .xlsx or .jsonl file to write; - writes JSON lines to the standard output.",
)

# The explorer
GivenData = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Files, folders or globs of conversations, which are put into the store first.", show_default=False
    ),
]
ExploredStore = Annotated[
    str | None,
    typer.Option(
        "--store", help="Folder of the store; by default DATA.store in the current folder.", show_default=False
    ),
]


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given; the others are ``None``."""
    return {name: value for name, value in options.items() if value is not None}


def parse_settings(assignments: list[str]) -> dict[str, Any]:
    """Read ``name=value`` settings with TOML values. A bare word is a text, except ``none``, which means no value.

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


Command = Callable[..., None]


def takes(group: type, name: str) -> Callable[[Command], Command]:
    """A decorator that gives a command an option for each field of ``group``; the command takes one as ``name``."""
    return lambda command: with_options(group, command, lambda chosen, given: command(**given, **{name: chosen}), name)


def with_options(
    group: type, command: Command, call: Callable[[Any, dict[str, Any]], None], instead_of: str | None = None
) -> Command:
    """A command that has the options of another, and one for each field of ``group``.

    Args:
        group: A dataclass whose fields are annotated as options.
        command: The other command.
        call: Called with an instance of the group and the other options.
        instead_of: The parameter of the other command that the group replaces.
    """
    hints = get_type_hints(group, include_extras=True)
    added = [_parameter(field.name, hints[field.name], field.default) for field in fields(group)]
    own = inspect.signature(command, eval_str=True).parameters.values()
    kept = [
        _parameter(parameter.name, parameter.annotation, parameter.default)
        for parameter in own
        if parameter.name != instead_of
    ]

    @wraps(command)
    def with_more(**given: Any) -> None:
        chosen = {option.name: given.pop(option.name) for option in added}
        call(group(**chosen), given)

    # typer reads this signature
    signature = inspect.Signature([*kept, *added])
    with_more.__signature__ = signature  # type: ignore[attr-defined]
    with_more.__annotations__ = {parameter.name: parameter.annotation for parameter in signature.parameters.values()}
    return with_more


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
