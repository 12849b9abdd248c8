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
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import asdict, dataclass, fields, replace
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from turnlens._utils.progress import note

if TYPE_CHECKING:
    from datasets import Dataset

    from turnlens.data.read_options import ReadingOptions
    from turnlens.formats.detection import UnknownLayout

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


@dataclass(frozen=True)
class Reading:
    """Settings of reading; each field is an option of every command that reads some.

    Options:
        format: Source format; by default detected from the content.
        skip_bad_rows: Skip bad rows and list them at the end.
        columns: What the columns hold, such as conversation=ticket_id,speaker=author.type,text=body,time=created_at.
            Also messages=…, for records that each hold a list of messages, and ignore=….
        redact: Replace personal data while reading: emails, phones, cards, ibans, urls, ips, secrets, national_ids,
            handles, or all of these; also names=FILE and persons=MODEL.
        encoding: Encoding of texts, such as cp1252; by default UTF-8, or a guess from the text if it is not UTF-8.
        split_by: Split long conversations, such as a chat over months: by day, or at a pause such as 6h.
    """

    format: str = "auto"
    skip_bad_rows: bool = False
    columns: str | None = None
    redact: str | None = None
    encoding: str | None = None
    split_by: str | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """These options as arguments of `read_conversations`."""
        options = asdict(self)
        return {"on_error": "skip" if options.pop("skip_bad_rows") else "raise", **options}

    @property
    def options(self) -> ReadingOptions:
        """These options, parsed and checked."""
        from turnlens.data.read_options import ReadingOptions

        return ReadingOptions.of(**self.arguments)

    def check(self, paths: str | os.PathLike[str] | list[Path], output: Path | None = None) -> None:
        """Raise those errors of `read` that can be found without reading, before anything slow is loaded."""
        from turnlens.formats.input_files import check_apart, find_files

        if output is not None:
            check_apart(output, paths)
        find_files(paths, self.options.format)

    def read(
        self, paths: str | os.PathLike[str] | list[Path], output: Path | None = None, id_key: bytes | None = None
    ) -> Dataset:
        """Read the conversations of files, folders or globs; the output must not be one of them.

        Ids that hold personal data become pseudonyms by the key. Of a table whose columns are not named, but leave no
        doubt, these are told and read.
        """
        from turnlens.data.conversations import read_conversations
        from turnlens.formats.detection import UnknownLayout
        from turnlens.formats.input_files import check_apart

        if output is not None:
            check_apart(output, paths)
        keyed = self._keyed(id_key)
        try:
            return read_conversations(paths, **{**self.arguments, **keyed})
        except UnknownLayout as unknown:
            return read_conversations(paths, **{**self.with_columns(unknown, paths).arguments, **keyed})

    def key_for(self, store: str | os.PathLike[str]) -> bytes | None:
        """The key for ids in a store that is to be filled, if personal data is redacted.

        Raises:
            ValueError: The store was filled with personal data redacted, and these texts would have theirs.
        """
        from turnlens.store import id_key
        from turnlens.store.tables import ID_KEY_FILE

        if self.redact is not None:
            self.options  # noqa: B018 (a mistake in these is an error before the store is marked as redacted)
            return id_key(store)
        if (Path(store) / ID_KEY_FILE).is_file():
            raise ValueError(
                f"{store} was filled with --redact, and these conversations would be kept as they are: name --redact "
                "again, as before, or another store"
            )
        return None

    def files_by_name(self, paths: list[Path], id_key: bytes | None = None) -> dict[str, str]:
        """The files by the beginning of the ids that their conversations get if they have none."""
        from turnlens.data.conversations import ConversationInput
        from turnlens.data.read_options import ReadingOptions

        options = ReadingOptions.of(**{**self.arguments, **self._keyed(id_key)})
        return ConversationInput(paths, options).files_by_name()

    def _keyed(self, id_key: bytes | None) -> dict[str, Any]:
        from turnlens.data.personal.redaction import Redaction

        return {"redact": None if self.redact is None else Redaction.parse(self.redact, id_key)}

    def rows(self, paths: str | os.PathLike[str] | list[Path]) -> Iterator[dict[str, Any]]:
        """The same conversations one at a time, without `datasets`, which takes a second to load."""
        from turnlens.data.conversations import iterate_conversations
        from turnlens.formats.detection import UnknownLayout

        rows = iterate_conversations(paths, **self.arguments)
        try:
            first = next(rows, None)
        except UnknownLayout as unknown:
            return iterate_conversations(paths, **self.with_columns(unknown, paths).arguments)
        return rows if first is None else chain([first], rows)

    def with_suggested(
        self, unknown: UnknownLayout, paths: str | os.PathLike[str] | list[Path]
    ) -> tuple[Reading, list[Path] | None]:
        """These options with the columns that read a file of unknown layout, and that file if they do not read all."""
        from turnlens.formats.detection import reads_some
        from turnlens.formats.input_files import find_files
        from turnlens.formats.source_file import Source

        reading = replace(self, columns=str(unknown.layout.columns))
        format_of = reading.options.format_of
        sources = (Source(file, encoding=self.encoding) for file in find_files(paths, self.format))
        reads_all = all(reads_some(source, format_of(source)) for source in sources)
        return reading, None if reads_all else [Path(unknown.where)]

    def with_columns(self, unknown: UnknownLayout, paths: str | os.PathLike[str] | list[Path]) -> Reading:
        """These options with the columns of a table, which are told; where they are in doubt, the error is raised."""
        if not unknown.layout.sure:
            raise unknown
        reading, alone = self.with_suggested(unknown, paths)
        if alone is not None:
            raise unknown
        note(f"{unknown.where}: read with --columns '{reading.columns}'; name others if that is wrong")
        return reading

    def command_line(self, data: list[Path]) -> str:
        """The data and these options as a user would type them."""
        words = [str(path) for path in data]
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                words += [f"--{field.name.replace('_', '-')}", *([] if value is True else [value])]
        return shlex.join(words)


reads_conversations = takes(Reading, "reading")
