"""Labels that people give to conversations of a store, which stay when the source is indexed again.

They are kept in one small file beside the tables, which is replaced atomically, and are put on each conversation that
is added. The tables hold them, too, as labels like any others, so that everything that reads a store finds them.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from turnlens._utils.arguments import did_you_mean
from turnlens._utils.files import put_in_order, write_text
from turnlens.data.conversation_source import ConversationSource, MemorySource
from turnlens.errors import BadRowError, ConversationError, error_line
from turnlens.formats.bad_input import DAMAGE, BadRow, damage_of, parse_record
from turnlens.formats.input_files import find_files, is_paths
from turnlens.formats.source_file import Source
from turnlens.store.lance_table import Tables
from turnlens.store.records import Record, stored_rows
from turnlens.store.state import StoreError

ANNOTATIONS_FILE = "annotations.json"
_SCHEMA = 1
_UNREADABLE: tuple[type[Exception], ...] = (BadRow, ConversationError, *DAMAGE)
# What a conversation of a sample is an example of, where its request is, and which group that is in.
SAMPLED_AS, REQUEST_TURN, GROUP, GROUP_NAME = "sampled_as", "request_turn", "group", "group_name"
REASONS = ("request", "no request", "edge", "surprising", "failed")
_COLUMNS = {"id", "turn", GROUP_NAME}  # a person may have deleted others
_log = logging.getLogger("turnlens")
_READ = (".csv", ".tsv", ".txt", ".xlsx", ".parquet", ".jsonl", ".ndjson", ".json")
# What the names of labels would take the place of.
_RESERVED = ("id", "messages", "role", "content", "time")


@dataclass(frozen=True)
class Annotation:
    """The labels that people gave to a conversation.

    Attributes:
        labels: Those of the whole conversation.
        turns: Those of its messages, by their turns.
    """

    labels: Mapping[str, Any] = field(default_factory=dict)
    turns: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)

    def __or__(self, newer: Annotation) -> Annotation:
        """Both, where newer values take the place of older ones."""
        turns = {turn: {**self.turns.get(turn, {}), **labels} for turn, labels in newer.turns.items()}
        return Annotation({**self.labels, **newer.labels}, {**self.turns, **turns})


def read_annotations(store: Path) -> dict[str, Annotation]:
    """The annotations of a store by the ids of the conversations.

    Raises:
        StoreError: Their file is damaged, or has another schema.
    """
    file = store / ANNOTATIONS_FILE
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["schema"] == _SCHEMA:
            return {id: _annotation_of(**kept) for id, kept in content["conversations"].items()}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise StoreError(
            f"{file} is damaged: {error_line(error)}; copy it back from a backup, or delete it and annotate again"
        ) from error
    raise StoreError(
        f"{file} has schema {content['schema']}, this version of turnlens reads {_SCHEMA}: use the one that wrote it"
    )


def write_annotations(store: Path, annotations: Mapping[str, Annotation]) -> None:
    """Replace the annotations of a store, whose lock the caller holds."""
    kept = {id: asdict(annotation) for id, annotation in annotations.items()}
    write_text(store / ANNOTATIONS_FILE, json.dumps({"schema": _SCHEMA, "conversations": kept}, default=str))


def annotated(record: Record, annotations: Mapping[str, Annotation]) -> Record:
    """The conversation with what people have said about it; labels of messages that it does not have are left out."""
    annotation = annotations.get(record.id)
    if annotation is None:
        return record
    messages = [{**message, **annotation.turns.get(turn, {})} for turn, message in enumerate(record.messages)]
    return replace(record, messages=messages, fields={**record.fields, **annotation.labels})


def forget_annotations(store: Path, ids: Collection[str]) -> None:
    """Remove the annotations of some conversations."""
    put_in_order(store / ANNOTATIONS_FILE)  # what a killed process left half-written may hold them, too
    annotations, gone = read_annotations(store), set(ids)
    kept = {id: annotation for id, annotation in annotations.items() if id not in gone}
    if len(kept) < len(annotations):
        write_annotations(store, kept)


def _annotation_of(labels: Mapping[str, Any], turns: Mapping[str, Mapping[str, Any]]) -> Annotation:
    return Annotation(dict(labels), {int(turn): dict(given) for turn, given in turns.items()})


def without_sample_labels(record: Record) -> Record:
    """A conversation without the labels that a sample has added to it, if it is certainly from a sample."""
    fields = record.fields
    reasons, turn, group, name = (_added_name(label, record) for label in (SAMPLED_AS, REQUEST_TURN, GROUP, GROUP_NAME))
    sampled = fields.get(reasons)
    if not (isinstance(sampled, list) and sampled and set(sampled) <= {*REASONS} and isinstance(fields.get(turn), int)):
        return record
    added = {reasons, turn, *((group, name) if name in fields else ())}  # where there is no group, both are missing
    return replace(record, fields={label: value for label, value in fields.items() if label not in added})


def is_table_of_groups(file: Path) -> bool:
    """Return true if a file is a table of turnlens's own, of requests or messages with their groups."""
    source = Source(file)
    if source.ending not in (".csv", ".xlsx", ".parquet"):
        return False
    try:
        record = next((parse_record(raw) for _, raw in source.records()), {})
    except _UNREADABLE:  # which is told when it is read
        return False
    return record.keys() >= _COLUMNS


def _added_name(name: str, record: Record) -> str:
    """The name of a label that a sample adds, which is another one where the source has a label of that name."""
    return f"label_{name}" if f"label_{name}" in record.fields else name


@dataclass(frozen=True)
class LabelledRow:
    """The labels of a row.

    Attributes:
        place: Where the row is, for messages.
        id: The conversation.
        turn: The message; ``None`` where the row is about the whole conversation.
        labels: Those that have a value.
    """

    place: str
    id: str
    turn: int | None
    labels: Mapping[str, Any]


def labelled_rows(data: ConversationSource, labels: Sequence[str]) -> list[LabelledRow]:
    """The rows of a file, or of a data frame or list, that have one of these labels.

    Raises:
        ConversationError: A column is not there, or a row cannot be used.
        ValueError: A label cannot have this name, or none is named.
    """
    if not labels:
        raise ValueError("labels: expected the names of columns with labels, got none")
    if wrong := [label for label in labels if label in _RESERVED]:
        raise ValueError(f"a label cannot be called {wrong[0]!r}, as a part of conversations is: rename that column")
    return [row for source in _sources(data) for row in _rows_of(source, labels)]


def rows_in(tables: Tables, rows: Sequence[LabelledRow]) -> list[LabelledRow]:
    """The rows about conversations and messages that a store has; a warning says how many others there are."""
    stored = stored_rows(tables, {row.id for row in rows}, ["turns"])
    turns = {id: row["turns"] for id, row in stored.items()}
    strange = [row for row in rows if row.id not in turns]
    known = [row for row in rows if row.id in turns]
    beyond = [row for row in known if row.turn is not None and row.turn >= turns[row.id]]
    parts = []
    if strange:
        parts.append(f"{len({row.id for row in strange}):,} conversations (the first is {strange[0].id!r})")
    if beyond:
        parts.append(f"{len(beyond):,} messages (the first is turn {beyond[0].turn} of {beyond[0].id!r})")
    if parts:
        where = tables.conversations.store
        _log.warning("%s does not have %s: their labels are left out", where, " and ".join(parts))
    return [row for row in known if row.turn is None or row.turn < turns[row.id]]


def annotations_of(rows: Iterable[LabelledRow]) -> dict[str, Annotation]:
    """Collect the labels of rows by conversation.

    A row with a turn is about that message. Its conversation gets the label, too, unless its messages have different
    ones or a row without a turn says something else.

    Raises:
        ConversationError: Two rows give one message, or one conversation, different values of a label.
    """
    by_conversation: dict[str, dict[int | None, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        labels = by_conversation[row.id][row.turn]
        for name, value in row.labels.items():
            if labels.setdefault(name, value) != value:
                at = "" if row.turn is None else f", turn {row.turn},"
                problem = f"conversation {row.id!r}{at} has two values of {name!r}: {labels[name]!r} and {value!r}"
                raise ConversationError(row.place, f"{problem}; leave one of them")
    return {id: _annotation(of_turns) for id, of_turns in by_conversation.items()}


def _annotation(of_turns: Mapping[int | None, Mapping[str, Any]]) -> Annotation:
    turns = {turn: labels for turn, labels in of_turns.items() if turn is not None}
    values: dict[str, list[Any]] = defaultdict(list)
    for labels in turns.values():
        for name, value in labels.items():
            values[name].append(value)
    agreed = {name: found[0] for name, found in values.items() if found.count(found[0]) == len(found)}
    return Annotation({**agreed, **of_turns.get(None, {})}, turns)


def _sources(data: ConversationSource) -> list[Source]:
    if not is_paths(data):
        return [MemorySource(data)]
    sources = [Source(file) for file in find_files(data)]
    for source in sources:
        if source.ending not in _READ:
            raise ConversationError(source.name, f"expected a table or chat JSONL, a {', '.join(_READ)} file")
    return sources


def _rows_of(source: Source, labels: Sequence[str]) -> list[LabelledRow]:
    records = list(_records(source))
    columns = dict.fromkeys(name for _, record in records for name in record)
    id_column = next((name for name in ("id", "conversation") if name in columns), None)
    for name in ("id", *labels) if id_column is None else labels:
        if name not in columns:
            problem = (
                f"there is no column {name!r}{did_you_mean(name, columns)}; found {', '.join(columns) or 'no rows'}"
            )
            raise ConversationError(source.name, problem)
    rows = []
    for place, record in records:
        labelled = {name: value for name in labels if (value := _value(record.get(name))) is not None}
        if labelled:
            rows.append(LabelledRow(place, _id(record, str(id_column), place), _turn(record, place), labelled))
    return rows


def _records(source: Source) -> Iterator[tuple[str, dict[str, Any]]]:
    """The place and the cells of each row, as whoever wrote the file has them."""
    try:
        for number, raw in source.records():
            try:
                record = parse_record(raw)
            except BadRow as bad:
                raise BadRowError(source.place(bad.number or number), str(bad)) from None
            yield source.place(number), {name.strip(): value for name, value in record.items()}
    except tuple(DAMAGE) as error:
        raise ConversationError(source.name, damage_of(error)) from None


def _value(value: Any) -> Any:
    """The value of a cell without blanks around it; ``None`` where there is none."""
    if isinstance(value, str):
        value = value.strip()
    return None if value in (None, "", []) or value != value else value  # NaN


def _id(record: Mapping[str, Any], column: str, place: str) -> str:
    id = _value(record.get(column))
    if id is None:
        raise ConversationError(place, f"no conversation id in the column {column!r}")
    return str(int(id) if isinstance(id, float) and id.is_integer() else id)


def _turn(record: Mapping[str, Any], place: str) -> int | None:
    """The turn of a table's row, or that of the request of a conversation from a sample."""
    names = (f"label_{REQUEST_TURN}", REQUEST_TURN) if "messages" in record else ("turn",)
    value = next((value for name in names if (value := _value(record.get(name))) is not None), None)
    if value is None:
        return None
    try:
        turn = float(value)
    except (TypeError, ValueError):
        turn = -1
    if turn < 0 or not turn.is_integer():
        raise ConversationError(place, f"the turn is {value!r}; expected the place of a message, a number from 0 on")
    return int(turn)
