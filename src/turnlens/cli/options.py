"""Options of several commands, and how options are declared, described and read.

An option is a parameter of a command, or a field of a dataclass whose options several commands have. Under "Options:",
at the end of its docstring, each is described; what several commands have is described here.

Options:
    cache: Keep the vectors of messages on disk, so that a model embeds no text twice. Not used for folders.
    candidates: A .txt file with one message per line, or a file of conversations.
    conversation: A file of conversations; the first one is used.
    conversation_label: Column that holds the label of each conversation.
    data: Files, folders or globs of conversations; - means the standard input.
    force: Overwrite the output and discard its unfinished run.
    id: Use the conversation with this id instead.
    json_file: Also write the messages and scores to this JSON file; - means the standard output.
    model: A folder or a Hub name; if left out, the default encoder.
    output: Folder to write the model to.
    own_label: A label of yours, of messages or of conversations: say how far the groups agree with it.
    period: Growth in the list: the last day, week or month against all before; by default what suits the data.
    pooling: How to pool whole conversations: mean, interlocutor, messages, or speaker:ROLE.
    resume: Continue the unfinished run of this output.
    seed: Seed for everything random.
    speaker: Who speaks next; by default the person who spoke before the last speaker.
    store: Folder of the store.
    top: Number of messages to show.
    where: A filter, such as: role = 'user' and label.intent in ('refund', 'cancel').
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

# What typer cannot tell from the name and the type of a parameter.
Output = Annotated[Path, typer.Option("--output", "-o")]
OptionalOutput = Annotated[Path | None, typer.Option("--output", "-o")]
ConversationFile = Annotated[Path, typer.Option("--conversation")]
Top = Annotated[int, typer.Option(min=1)]
OwnLabel = Annotated[str | None, typer.Option("--label")]
Compared = Literal["day", "week", "month"] | None

# The explorer
StoreModel = Annotated[
    str | None,
    typer.Option(
        help="A folder or a Hub name; if left out, that of the store or of the groups, if there is one, or else the "
        "default encoder."
    ),
]
GivenData = Annotated[
    list[Path] | None,
    typer.Argument(help="Files, folders or globs of conversations, which are put into the store first."),
]
ExploredStore = Annotated[
    str | None, typer.Option(help="Folder of the store; by default DATA.store in the current folder.")
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
    """A command that has the options of another, and one for each field of ``group``, with their descriptions.

    Args:
        group: A dataclass whose fields are options.
        command: The other command.
        call: Called with an instance of the group and the other options.
        instead_of: The parameter of the other command that the group replaces.
    """
    hints, of_group = get_type_hints(group, include_extras=True), _described(group.__doc__)[1]
    added = [_parameter(field.name, hints[field.name], field.default, of_group) for field in fields(group)]
    text, described = _described(command.__doc__)
    own = inspect.signature(command, eval_str=True).parameters.values()
    kept = [
        _parameter(parameter.name, parameter.annotation, parameter.default, described)
        for parameter in own
        if parameter.name != instead_of
    ]

    @wraps(command)
    def with_more(**given: Any) -> None:
        chosen = {option.name: given.pop(option.name) for option in added}
        call(group(**chosen), given)

    # typer reads these
    signature = inspect.Signature([*kept, *added])
    with_more.__signature__ = signature  # type: ignore[attr-defined]
    with_more.__annotations__ = {parameter.name: parameter.annotation for parameter in signature.parameters.values()}
    with_more.__doc__ = text
    return with_more


def _described(docstring: str | None) -> tuple[str, dict[str, str]]:
    """Cut the descriptions of options, by their names, off a docstring."""
    text, _, section = inspect.cleandoc(docstring or "").partition("\nOptions:\n")
    descriptions = re.findall(r"^    (\w+): (.+(?:\n {8}.+)*)", section, re.MULTILINE)
    return text.rstrip(), {name: " ".join(words.split()) for name, words in descriptions}


_SHARED = _described(__doc__)[1]


def _parameter(name: str, annotation: Any, default: Any, described: Mapping[str, str]) -> inspect.Parameter:
    """A parameter as typer reads it. Of plain types, one without a default is an argument; a flag has no contrary."""
    help = described.get(name, _SHARED.get(name))
    kind, *declared = get_args(annotation) if get_origin(annotation) is Annotated else [annotation]
    if help is not None and not any(info.help for info in declared):
        if declared:
            info: Any = copy(declared[0])
        elif default is inspect.Parameter.empty:
            info = typer.Argument()
        else:
            info = typer.Option(f"--{name.replace('_', '-')}") if default is False else typer.Option()
        info.help = help
        annotation = Annotated[kind, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
