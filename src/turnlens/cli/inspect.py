"""The command that shows what a file holds before anything is trained on it: `turnlens inspect`."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnlens._utils.progress import console, note
from turnlens.cli.options import OptionalOutput, Reading, reads_conversations
from turnlens.cli.tables import check_json, print_pairs, write_json

if TYPE_CHECKING:
    from turnlens.formats.detection import UnknownLayout

_SHOWN_MESSAGES = 6
_SHOWN_FILES = 3


@reads_conversations
def inspect(data: list[Path], reading: Reading, json_file: OptionalOutput = None, force: bool = False) -> None:
    """Show what files hold and how they will be read, without keeping anything.

    For a table whose columns leave no doubt, tell them; else show them, and a command that reads it, as was tried.

    Example: `turnlens inspect tickets.csv`

    Options:
        json_file: Also write all counts to this JSON file; - means the standard output.
    """
    from turnlens.formats.detection import UnknownLayout

    check_json(json_file, force, data)
    try:
        try:
            summary = _summary(data, reading)
        except UnknownLayout as unknown:
            reading = reading.with_columns(unknown, data)
            summary = _summary(data, reading)
    except UnknownLayout as unknown:
        _print_layout(unknown, data, reading)
        raise ValueError(f"{unknown.where}: could not detect the format; {_advice(unknown)}") from None
    if write_json(json_file, summary):
        _print_summary(summary, data, reading)


def _summary(data: list[Path], reading: Reading) -> dict[str, Any]:
    """Everything that is shown of files."""
    from turnlens.data.conversations import iterate_conversations
    from turnlens.data.inspection import inspect_conversations

    formats = _formats(data, reading)
    inspection = inspect_conversations(iterate_conversations(data, **reading.arguments))
    return {"formats": formats, **inspection.summary(), "first": inspection.first}


def _formats(data: list[Path], reading: Reading) -> dict[str, str]:
    """The format of each file."""
    from turnlens.formats.input_files import find_files
    from turnlens.formats.source_file import Source
    from turnlens.formats.table import columns_read

    options = reading.options
    formats = {}
    for file in find_files(data, options.format):
        source = Source(file, encoding=options.encoding)
        format = options.format_of(source)
        columns = f": {columns_read(source, options.columns)}" if format.name == "table" else ""
        formats[source.name] = f"{format.name}, {format.description}{_told(columns, reading)}"
    return formats


def _print_summary(summary: dict[str, Any], data: list[Path], reading: Reading) -> None:
    from turnlens.data.languages import advice
    from turnlens.data.personal.redaction import NOT_FOUND

    personal = [name for name, counts in summary["personal_data"].items() if _is_found(counts)]
    is_redacted = reading.redact is not None
    people = summary["labels_with_names"] if personal or is_redacted else []
    following = _without_labels(people, summary, reading)
    rows = [*_sizes(summary), *_labels(summary), *_doubts(summary), *_people(people, following)]
    if is_redacted:
        rows.append(("not found by patterns", NOT_FOUND))
    print_pairs(reading.command_line(data), rows)
    first = summary["first"]
    _print_conversation(first, f"The first conversation, {first['id']}")
    redact = "" if is_redacted or not personal else f" --redact {','.join(personal)}"
    command = f"{following.command_line(data)}{redact}"
    if (foreign := advice(summary["languages"], f"turnlens explore {command} --model")) is not None:
        note(f"\n{foreign}")
    note(f"\n{_next(summary, command, reading)}")


def _print_conversation(row: dict[str, Any], heading: str) -> None:
    console.print(f"\n{heading}:")
    for message in row["messages"][:_SHOWN_MESSAGES]:
        console.print(f"  {message['role']}: {_short(_shown(message))}", soft_wrap=True)
    if len(row["messages"]) > _SHOWN_MESSAGES:
        console.print(f"  … {len(row['messages']) - _SHOWN_MESSAGES} more")


def _shown(message: dict[str, Any]) -> str:
    """The text of a message or, where it has none, what it holds instead."""
    if message["content"].strip():
        return str(message["content"])
    from turnlens.formats.message_layouts import TECHNICAL_LABELS

    beside = {name: value for name, value in message.items() if name in TECHNICAL_LABELS and value}
    return "; ".join(f"[{name}] {value}" for name, value in beside.items()) or "(no text)"


def _next(summary: dict[str, Any], command: str, reading: Reading) -> str:
    """The next commands for these files and options, with the reason if they are not the usual ones."""
    if summary["empty_messages"] == summary["messages"]:
        return "No message has a text, so there is nothing to group, to search or to learn from."
    needed = ""
    then = f"train {command} --output model"
    if summary["trainable_conversations"] < 2:
        needed = "Training needs at least two conversations of two turns or more."
        is_split = reading.split_by is not None or summary["conversations"] != 1
        split_by = None if is_split else _split_by(summary["first"])
        if split_by is None:
            then = f"cluster {command} --output groups.csv"
        else:
            needed += " This one can be split by its times."
            command = f"{command} --split-by {split_by}"
            then = f"train {command} --output model"
        needed += "\n"
    return f"{needed}Next: turnlens explore {command}\n  or: turnlens {then}"


def _split_by(row: dict[str, Any]) -> str | None:
    """The --split-by value that splits a conversation into several that can be trained on, if its times allow it."""
    from turnlens.data.inspection import takes_turns
    from turnlens.formats.bad_input import BadRow
    from turnlens.formats.conversation_splitting import parts_of

    for split_by in ("day", "1h", "10m"):
        try:
            if sum(takes_turns(part["messages"]) for part in parts_of(row, split_by)) > 1:
                return split_by
        except BadRow:  # no times
            return None
    return None


def _without_labels(labels: list[str], summary: dict[str, Any], reading: Reading) -> Reading:
    """The options that leave out the columns of labels, where the format has columns."""
    has_columns = all(format.startswith(("table,", "nested,")) for format in summary["formats"].values())
    named = [label for label in labels if not set(label) & set(",=")]
    if not named or not has_columns:
        return reading
    given = [reading.columns] if reading.columns else []
    return replace(reading, columns=",".join([*given, *(f"ignore={label}" for label in named)]))


def _people(labels: list[str], following: Reading) -> list[tuple[str, str]]:
    """A line for each label with names of people, which patterns do not find, and the way to leave it out."""
    ignored = following.options.columns.ignore if following.options.columns else ()
    return [
        (
            "names of people",
            f"label {label} (--columns 'ignore={label}' leaves it out)"
            if label in ignored
            else f"label {label} (--redact names=FILE replaces those in a file, one a line)",
        )
        for label in labels
    ]


def _sizes(summary: dict[str, Any]) -> list[tuple[str, str]]:
    from turnlens.data.languages import shares

    files = summary["formats"]
    kinds = dict.fromkeys(files.values())
    names = ", ".join(list(files)[:_SHOWN_FILES]) + (f", … ({len(files)} files)" if len(files) > _SHOWN_FILES else "")
    turns, tokens, speakers = (
        summary[name] for name in ("turns_per_conversation", "tokens_per_message", "speakers_per_conversation")
    )
    return [
        ("read from", names),
        ("format", "; ".join(kinds)),
        ("conversations", f"{summary['conversations']:,}"),
        ("messages", f"{summary['messages']:,}: {_spread(turns)} in a conversation"),
        ("tokens (words)", f"{summary['tokens']:,}: {_spread(tokens)} in a message"),
        ("speakers", f"{_values(summary['speakers'])}; {_spread(speakers)} in a conversation"),
        ("languages", shares(summary["languages"]) or "no letters"),
    ]


def _labels(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """A line for each label: how many conversations or messages have it, and its values."""
    return [
        (f"label {name}", f"of {level}, {values['given']:,} given: {_values(values)}")
        for level in ("conversation", "message")
        for name, values in summary[f"{level}_labels"].items()
    ]


def _doubts(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """A line for everything that training leaves out or that you should check."""
    from turnlens.data.personal.redaction import NOT_FOUND

    repeated, personal = summary["repeated"], summary["personal_data"]
    kinds = ", ".join(_counted(name, counts) for name, counts in personal.items() if _is_found(counts))
    lines = [
        ("left out by training", summary["empty_messages"], "empty messages"),
        ("left out by training", summary["conversations_of_one_message"], "conversations of a single message"),
        ("of one speaker", summary["conversations_of_one_speaker"], "conversations"),
        ("joined by training", summary["messages_by_the_same_speaker_again"], "messages by the same speaker again"),
        ("repeated", repeated["ids"], "ids of conversations: a store keeps only the last of each; give each its own"),
        ("repeated", repeated["conversations"], "whole conversations"),
        ("repeated", repeated["messages"], "messages"),
    ]
    shown = [(name, f"{count:,} {kind}") for name, count, kind in lines if count]
    patterns = f"by patterns, which find no {NOT_FOUND}"
    return [*shown, ("personal data", f"{kinds} ({patterns}; --redact replaces what they find)")] if kinds else shown


def _is_found(personal: dict[str, Any]) -> bool:
    return bool(personal["found"] or personal["labels"])


def _counted(name: str, personal: dict[str, Any]) -> str:
    labels = f" in {', '.join(personal['labels'])}" if personal["labels"] else ""
    if not personal["found"]:
        return f"{name}{labels}"
    return f"{personal['found']:,} {name} in {personal['messages']:,} messages{' and' * bool(labels)}{labels}"


def _spread(values: dict[str, float]) -> str:
    if values["least"] == values["most"]:
        return f"{values['least']:,}"
    return f"{values['least']:,} to {values['most']:,}, median {values['median']:,}, mean {values['mean']:,}"


def _values(values: dict[str, Any]) -> str:
    if values["times"] is not None:
        return f"from {values['times']['first']} to {values['times']['last']}"
    shown = ", ".join(f"{_short(value, 40)} ({count:,})" for value, count in values["most_frequent"].items())
    more = values["distinct"] - len(values["most_frequent"])
    return f"{shown}, … {more:,}{'+' if values['distinct_is_cut'] else ''} more" if more > 0 else shown


def _short(text: str, length: int = 200) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else f"{text[:length]}…"


def _advice(unknown: UnknownLayout) -> str:
    from turnlens.formats.detection import EXPECTED_LINES, NAME_COLUMNS

    if unknown.layout.columns is not None:
        return "name its columns as shown above"
    return NAME_COLUMNS if unknown.layout.examples else EXPECTED_LINES


def _told(text: str, reading: Reading) -> str:
    redaction = reading.options.redaction
    return text if redaction is None else redaction.text(text)


def _print_layout(unknown: UnknownLayout, data: list[Path], reading: Reading) -> None:
    from turnlens.formats import FORMATS

    layout = unknown.layout
    if layout.examples:
        examples = [(name, _told(example, reading)) for name, example in layout.examples.items()]
        print_pairs(f"{unknown.where}: the columns found, and an example of each", examples)
    if layout.first is not None and layout.columns is not None:
        suggested, alone = reading.with_suggested(unknown, data)
        suggested = replace(suggested, skip_bad_rows=reading.skip_bad_rows or layout.skips)
        reads = "This reads it"
        if layout.columns.are_of_one_conversation:
            split_by = reading.split_by or _split_by(layout.first)
            suggested = replace(suggested, split_by=split_by)
            reads += f", as one chat cut by {split_by}" if split_by else " as one conversation"
        console.print(f"\n{reads}:\n  turnlens inspect {suggested.command_line(alone or data)}", soft_wrap=True)
        redaction = reading.options.redaction
        first = layout.first if redaction is None else redaction.conversation(layout.first)
        _print_conversation(first, "The first conversation would be" if not suggested.split_by else "It begins")
        if not logging.getLogger("turnlens").isEnabledFor(logging.INFO):
            return
    elif layout.problem:
        console.print(f"\nNo columns were found that read it well: {layout.problem}.", soft_wrap=True)
    console.print(f"\nKnown layouts: {', '.join(FORMATS)}", soft_wrap=True)
