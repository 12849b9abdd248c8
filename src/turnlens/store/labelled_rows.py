"""Reading the labels that people gave to conversations, from rows of a table or of chats."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnlens._utils.arguments import did_you_mean
from turnlens._utils.text_values import with_formula
from turnlens.data.conversation_source import ConversationSource, MemorySource
from turnlens.errors import BadRowError, ConversationError
from turnlens.formats.bad_input import DAMAGE, BadRow, damage_of, parse_record
from turnlens.formats.input_files import find_files, is_paths
from turnlens.formats.source_file import Source
from turnlens.store.annotations import Annotation
from turnlens.store.exported import REQUEST_TURN
from turnlens.store.lance_table import Tables
from turnlens.store.reading import turns_of

_log = logging.getLogger("turnlens")
_IDS = ("id", "conversation")
_READ = (".csv", ".tsv", ".txt", ".xlsx", ".parquet", ".jsonl", ".ndjson", ".json")
# What the names of labels would take the place of.
_RESERVED = ("id", "messages", "role", "content", "time")


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
    turns = turns_of(tables, list({row.id for row in rows}))
    strange = [row for row in rows if row.id not in turns]
    known = [row for row in rows if row.id in turns]
    beyond = [row for row in known if row.turn is not None and row.turn >= turns[row.id]]
    told = []
    if strange:
        told.append(f"{len({row.id for row in strange}):,} conversations (the first is {strange[0].id!r})")
    if beyond:
        told.append(f"{len(beyond):,} messages (the first is turn {beyond[0].turn} of {beyond[0].id!r})")
    if told:
        where = tables.conversations.store
        _log.warning("%s does not have %s: their labels are left out", where, " and ".join(told))
    return [row for row in known if row.turn is None or row.turn < turns[row.id]]


def annotations_of(rows: Iterable[LabelledRow]) -> dict[str, Annotation]:
    """What rows say about conversations.

    A row with a turn is about that message. Its conversation gets the label, too, unless its messages have different
    ones or a row without a turn says something else.

    Raises:
        ConversationError: Two rows give one message, or one conversation, different values of a label.
    """
    said: dict[str, dict[int | None, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        labels = said[row.id][row.turn]
        for name, value in row.labels.items():
            if labels.setdefault(name, value) != value:
                at = "" if row.turn is None else f", turn {row.turn},"
                problem = f"conversation {row.id!r}{at} has two values of {name!r}: {labels[name]!r} and {value!r}"
                raise ConversationError(row.place, f"{problem}; leave one of them")
    return {id: _annotation(of_turns) for id, of_turns in said.items()}


def _annotation(of_turns: Mapping[int | None, Mapping[str, Any]]) -> Annotation:
    turns = {turn: labels for turn, labels in of_turns.items() if turn is not None}
    values: dict[str, list[Any]] = defaultdict(list)
    for labels in turns.values():
        for name, value in labels.items():
            values[name].append(value)
    agreed = {name: given[0] for name, given in values.items() if given.count(given[0]) == len(given)}
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
    id_column = next((name for name in _IDS if name in columns), None)
    for name in ("id", *labels) if id_column is None else labels:
        if name not in columns:
            said = f"there is no column {name!r}{did_you_mean(name, columns)}; found {', '.join(columns) or 'no rows'}"
            raise ConversationError(source.name, said)
    rows = []
    for place, record in records:
        given = {name: value for name in labels if (value := _value(record.get(name))) is not None}
        if given:
            rows.append(LabelledRow(place, _id(record, str(id_column), place), _turn(record, place), given))
    return rows


def _records(source: Source) -> Iterator[tuple[str, dict[str, Any]]]:
    """The place and the cells of each row, as whoever wrote the file has them."""
    try:
        for number, raw in source.records():
            try:
                record = parse_record(raw)
            except BadRow as bad:
                raise BadRowError(source.place(bad.number or number), str(bad)) from None
            if source.ending == ".xlsx":  # perhaps saved from a CSV file of ours, whose reading takes the marks off
                texts = {name: with_formula(value) for name, value in record.items() if isinstance(value, str)}
                record = {**record, **texts}
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
