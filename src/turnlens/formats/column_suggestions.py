"""Suggestions of columns for a file of unknown layout: the first candidates that read it well."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Any

from turnlens.errors import ConversationError
from turnlens.formats.bad_input import BadRow, parse_record
from turnlens.formats.column_guesses import Fields, candidates, hinted, is_sure, ranked, text_score
from turnlens.formats.columns import Columns
from turnlens.formats.format import any_records
from turnlens.formats.source_file import Source
from turnlens.formats.table import nested, table_of

_RECORDS_LOOKED_AT = 300
_MESSAGES_LOOKED_AT = 1000
_MOST_FIELDS = 2000
_DEEPEST = 4
_EXAMPLE_LENGTH = 60
_LONG_TEXT = 3  # the score from which a column is certainly text: some forty letters, all different, or a good name
_MOST_BAD_ROWS = 0.1
_MOST_SPEAKERS = 10  # where they say fewer than three things each: such rows are texts of their own, as reviews are
_MOST_MESSAGES = 50  # on average, where nothing says that a column holds conversations
Records = list[dict[str, Any]]


@dataclass(frozen=True)
class Layout:
    """The content of a file.

    Args:
        examples: Each column, or path of a nested field, and a value of it. ``comments[].body`` is in a list.
        columns: The ones that read it, as was tried; ``None`` if none read it well.
        first: The first conversation that they give.
        skips: They read all but a few rows, which are bad.
        sure: The names of the columns say so, too, and no other column comes near; see `is_sure`.
        problem: If there are none: the problem of the likeliest.
    """

    examples: dict[str, str]
    columns: Columns | None = None
    first: dict[str, Any] | None = None
    skips: bool = False
    sure: bool = False
    problem: str = ""


def describe_layout(source: Source) -> Layout:
    """Look at the first records of a file whose layout is not known, and try the columns that may read it."""
    records = list(islice(_records(source), _RECORDS_LOOKED_AT))
    fields = _fields(records)
    if len(fields) > _MOST_FIELDS:
        return Layout({}, problem=f"it has {len(fields):,} columns, too many to try")
    lists = {path: _fields(messages) for path, messages in _lists(records).items()}
    every = fields | {f"{path}[].{name}": values for path, inner in lists.items() for name, values in inner.items()}
    examples = {name: _example(values) for name, values in every.items()}
    problems = []
    for columns in candidates(fields, lists):
        problem = _left_out(columns, every)
        if not problem:
            first, skips, problem = _tried(columns, records)
            if not problem:
                return Layout(examples, columns, first, skips, not skips and is_sure(columns, fields))
        problems.append(f"with --columns '{columns}', {problem}")
    if not problems and any(ranked(every, text_score)):
        problems = ["no column was found that says who speaks"]
    return Layout(examples, problem=problems[0] if problems else "")


def _left_out(columns: Columns, every: Fields) -> str:
    """The text that columns would leave out, or an empty text."""
    path = f"{columns.messages}[]." if columns.messages else ""
    used = {columns.conversation, *(f"{path}{name}" for name in columns.of_message)}
    texts = every.get(f"{path}{columns.text}", [])
    read = {_letters(value) for value in [*texts, *every.get(f"{path}{columns.answer}", [])]}
    for name, values in every.items():
        filled = [value for value in values if value not in (None, "")]
        is_text = text_score(name, filled) >= _LONG_TEXT and len(filled) > len(values) / 5
        if name in used or not is_text or hinted(name.split(".")[-1], "about"):
            continue
        varies = len(set(filled)) / len(filled) > len(set(texts)) / max(len(texts), 1) / 2
        if varies and mean(_letters(value) not in read for value in filled) > 0.2:
            return f"the texts of {name!r} would not be messages"
    return ""


def _letters(value: Any) -> str:
    """The first letters of a text, which its copies in HTML share."""
    return re.sub(r"<[^>]*>|&\w+;|[\W_]", "", str(value))[:30]


class _Sample(Source):
    """The first records of a file, which decide nothing that a user is told."""

    def warn(self, problem: str) -> None:
        pass


def _tried(columns: Columns, records: Records) -> tuple[dict[str, Any] | None, bool, str]:
    """The first conversation that columns give, whether bad rows must be skipped, and the problem of the columns."""
    chosen = nested(columns) if columns.messages else table_of(columns)
    rows, bad = [], []
    with tempfile.TemporaryDirectory(prefix="turnlens-") as folder:
        source = _Sample(Path(folder) / "records.jsonl")
        lines = (json.dumps(record, default=str) + "\n" for record in records)
        source.path.write_text("".join(lines), encoding="utf-8")
        try:
            for _, raw in chosen.records(source):
                try:
                    rows.append(chosen.row(raw, source))
                except BadRow as problem:
                    bad.append(str(problem))
        except ConversationError as error:
            bad.append(error.problem)
    talks = [row for row in rows if row is not None and row["messages"]]
    if not talks or len(bad) > _MOST_BAD_ROWS * len(talks):
        return None, True, bad[0] if bad else "no text is found"
    return talks[0], bool(bad), _misread(columns, talks)


def _misread(columns: Columns, talks: Records) -> str:
    """The problem of conversations as these columns give them, or an empty text."""
    ids = [talk["id"] for talk in talks if talk["id"] is not None]
    if len(set(map(str, ids))) < len(ids):
        return f"ids would repeat: {columns.conversation or 'id'!r} is not one for each conversation"
    texts = [message["content"] for talk in talks for message in talk["messages"]]
    if mean(text.startswith(('{"', "[{")) for text in texts) > _MOST_BAD_ROWS:
        return "some texts would be JSON"
    if columns.speaker is None and columns.answer is None and not columns.messages:
        return ""  # each row is a text of its own
    speakers = [len({message["role"] for message in talk["messages"]}) for talk in talks]
    for count, talk in zip(speakers, talks):
        if count > max(_MOST_SPEAKERS, len(talk["messages"]) / 3):
            return f"a conversation of {len(talk['messages']):,} messages would have {count:,} speakers"
    if columns.are_of_one_conversation and all(
        "T00:00" in str(message.get("time", "T00:00")) for message in talks[0]["messages"]
    ):
        return "its times are days, which tell no order of messages"
    is_named = columns.conversation is None or hinted(columns.conversation, "conversation")
    if not is_named and not columns.messages and len(texts) > _MOST_MESSAGES * len(talks):
        return f"{len(texts):,} messages would be {len(talks):,} conversations by {columns.conversation!r}"
    one_sided = sum(count < 2 for count in speakers)
    if one_sided > len(talks) / 2:
        return f"one side would be missing in {one_sided:,} of {len(talks):,} conversations"
    return ""


def _records(source: Source) -> Iterator[dict[str, Any]]:
    try:
        for _, raw in any_records(source):
            try:
                yield parse_record(raw)
            except BadRow:
                continue
    except (ConversationError, UnicodeDecodeError, EOFError, OSError):
        return


def _fields(records: Records) -> Fields:
    """The values of each field that is no list, by its path; ``None`` where a record lacks it."""
    flat = [
        {path: value for path, value in _leaves(record) if not isinstance(value, list | dict)} for record in records
    ]
    return {name: [row.get(name) for row in flat] for name in dict.fromkeys(name for row in flat for name in row)}


def _lists(records: Records) -> dict[str, Records]:
    """The elements of each list of objects, by its path."""
    lists: dict[str, Records] = {}
    for record in records:
        for path, messages in _leaves(record):
            if isinstance(messages, list) and _as_messages(messages):
                elements = lists.setdefault(path, [])
                elements += messages[: max(0, _MESSAGES_LOOKED_AT - len(elements))]
    return lists


def _leaves(record: dict[str, Any], prefix: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    """The values of a record and of objects in it, with lists of objects that are written as JSON as such."""
    for name, value in record.items():
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _leaves(value, f"{prefix}{name}.", depth + 1)
        else:
            yield f"{prefix}{name}", _as_messages(value) or value


def _as_messages(value: Any) -> Records | None:
    """The value if it is a list of objects, or JSON of one."""
    if isinstance(value, str) and value.lstrip().startswith("[{"):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    is_list = isinstance(value, list) and bool(value) and all(isinstance(element, dict) for element in value)
    return value if is_list else None


def _example(values: list[Any]) -> str:
    value = next((value for value in values if value not in (None, "")), "")
    text = " ".join(str(value).split())
    return text if len(text) <= _EXAMPLE_LENGTH else f"{text[:_EXAMPLE_LENGTH]}…"
