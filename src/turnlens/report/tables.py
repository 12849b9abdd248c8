"""Tables of a report, and samples of its conversations, for others."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from turnlens._utils.files import atomic_path, check_file
from turnlens._utils.text_values import without_formulas
from turnlens._utils.vectors import BoolArray, IntArray
from turnlens.encoders.vector_files import write_lines
from turnlens.formats.workbooks import escaped_cell
from turnlens.groups.group_model import Kind, StoredGroup
from turnlens.groups.pipeline import keys_of
from turnlens.report.corpus import DURATION
from turnlens.report.label_columns import Label
from turnlens.report.report import Group, Report
from turnlens.report.unhappiness import UNHAPPY
from turnlens.store.annotations import GROUP, GROUP_NAME, REQUEST_TURN, SAMPLED_AS

_ENDINGS = (".parquet", ".csv", ".jsonl", ".xlsx")
_ROWS_AT_ONCE = 10_000
_SHEET_ROWS, _CELL_CHARACTERS = 1_048_576, 32_767  # that Excel opens


def groups_table(report: Report, kind: Kind, rows: BoolArray | None = None) -> pa.Table:
    """The groups of all messages or conversations.

    Args:
        report: The report.
        kind: ``"message"`` gives the columns id, turn (from 0), role, text and time; ``"conversation"`` gives id, turns
            and time. Both also have group and coarse_group, the group of similar groups that it is in, and their names;
            then the labels, where those of a message come before those of its conversation, and all that is measured
            of a conversation. A value that does not exist is null.
        rows: The messages or conversations to include; by default all.
    """
    columns = report.columns(kind)
    ids = pa.array(report.ids)
    table: dict[str, Any]
    if kind == "message":
        table = {
            "id": ids.take(pa.array(columns["conversation"])),
            "turn": pa.array(columns["turn"].astype(np.int32)),
            "role": pa.array(list(report.roles)).take(pa.array(columns["role"])),
            "text": pa.array(list(report.texts)),
            "time": _times(columns["time"]),
        }
    else:
        table = {"id": ids, "turns": pa.array(columns["turns"].astype(np.int32)), "time": _times(columns["time"])}
    table |= group_columns(columns["group"], {group.id: group for group in report.groups[kind]})
    for name, values in _labels(report, kind).items():
        table[label_column(name, table)] = values
    return pa.table(table) if rows is None else pa.table(table).filter(pa.array(rows))


def group_columns(ids: IntArray, groups: Mapping[int, Group | StoredGroup]) -> dict[str, pa.Array]:
    """The columns group, group_name, coarse_group and coarse_group_name of fine groups (n,), -1 for none."""
    parents = [None if id not in groups else groups[id].parent for id in ids.tolist()]
    coarse_ids = np.asarray([-1 if parent is None else parent for parent in parents])
    columns: dict[str, pa.Array] = {}
    for name, values in (("group", ids), ("coarse_group", coarse_ids)):
        columns[name] = pa.array(values.astype(np.int32), mask=values < 0)
        names = [groups[id].name if id in groups else None for id in values.tolist()]
        columns[f"{name}_name"] = pa.array(names, pa.string())
    return columns


def label_column(name: str, columns: Container[str]) -> str:
    """The column of a label, which must not take the name of another column."""
    while name in columns:
        name = f"label_{name}"
    return name


def _labels(report: Report, kind: Kind) -> dict[str, pa.Array]:
    """The labels; what is measured, as numbers."""
    rows = report.messages["conversation"] if kind == "message" else np.arange(len(report.ids))
    shown = set(report.numbers)
    if kind == "message":
        shown -= {DURATION, UNHAPPY, *report.message_numbers} - set(report.conversation_labels)
    labels = {name: _known(values[rows]) for name, values in report.numbers.items() if name in shown}
    if kind == "message" and UNHAPPY in report.numbers:
        scores = report.messages[UNHAPPY]
        labels[UNHAPPY] = pa.array(scores > 0, mask=np.isnan(scores))
    for name, label in report.conversation_labels.items():
        labels.setdefault(name, _named(label, label.codes[rows]))
    for name, own in _labels_of_messages(report).items() if kind == "message" else ():
        labels[name] = own if name not in labels else _first_known(own, labels[name])
    return labels


def _first_known(own: pa.Array, other: pa.Array) -> pa.Array:
    """The own values, and the other ones where there is none; as texts if only one of both are numbers."""
    if own.type != other.type:
        own, other = own.cast(pa.string()), other.cast(pa.string())
    return pc.coalesce(own, other)


def _labels_of_messages(report: Report) -> dict[str, pa.Array]:
    labels = {name: _known(values) for name, values in report.message_numbers.items()}
    for name, label in report.message_labels.items():
        labels.setdefault(name, _named(label, label.codes))
    return labels


def _known(values: np.ndarray) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))


def _named(label: Label, codes: np.ndarray) -> pa.Array:
    return pa.array(label.values, pa.string()).take(pa.array(codes, mask=codes < 0))


def _times(seconds: np.ndarray) -> pa.Array:
    unknown = np.isnan(seconds)
    return pa.array(np.where(unknown, 0, seconds).astype(np.int64), pa.timestamp("s"), mask=unknown)


def check_table(path: str | os.PathLike[str], force: bool = False) -> Path:
    """Return ``path`` if a table can be written there. Raises the errors of `check_file`, too.

    Raises:
        ValueError: It has another ending.
    """
    return check_file(path, force, _ENDINGS)


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table in the format that the file's ending names, or as JSON lines to the standard output."""
    with atomic_path(path) as temporary:
        if path.suffix.lower() == ".parquet":
            pyarrow.parquet.write_table(table, temporary)
        elif path.suffix.lower() == ".xlsx":
            _write_sheet(without_formulas(table), temporary)
        elif path.suffix.lower() == ".csv":
            pyarrow.csv.write_csv(without_formulas(table), temporary)
        else:
            write_lines([table], temporary)


def _write_sheet(table: pa.Table, path: Path) -> None:
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    if len(table) >= _SHEET_ROWS:
        raise ValueError(f"a spreadsheet holds {_SHEET_ROWS - 1:,} rows, got {len(table):,}: write .csv or .parquet")
    book = Workbook(write_only=True)
    sheet = book.create_sheet()

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = WriteOnlyCell(sheet)
        text.value = escaped_cell(value[:_CELL_CHARACTERS])
        text.data_type = "s"  # also if it looks like an error, such as #N/A
        return text

    sheet.append([*map(cell, table.column_names)])
    for batch in table.to_batches(_ROWS_AT_ONCE):
        for row in batch.to_pylist():
            sheet.append([cell(value) for value in row.values()])
    book.save(path)


def requests_table(report: Report, conversations: Iterable[Mapping[str, Any]]) -> pa.Table:
    """The request of each conversation with its group, as `groups_table` has messages.

    Args:
        report: The report.
        conversations: Those of its store. Where the request's message has a ``trace``, so has the table.
    """
    rows = np.sort(request_rows(report))
    is_request = np.zeros(len(report.texts), bool)
    is_request[rows] = True
    listed = replace(report, messages={**report.messages, "group": _listed_groups(report)})
    table = groups_table(listed, "message", is_request)
    turns = dict(zip(report.ids, report.messages["turn"][rows].tolist()))
    traces = {row["id"]: _message(row, turns.get(row["id"], -1)).get("trace") for row in conversations}
    if any(traces.values()):
        column = pa.array([traces.get(id) for id in table["id"].to_pylist()], pa.string())
        names = [name for name in table.column_names if name != "trace"]
        table = table.select(names).add_column(2, "trace", column)
    return table


def sampled(
    report: Report, conversations: Iterable[dict[str, Any]], failed: Iterable[str], count: int, seed: int
) -> Iterator[dict[str, Any]]:
    """A sample of conversations, each with the group and the turn of its request and with what it is an example of.

    Args:
        report: The report, with surprise where it could be measured.
        conversations: Those of its store.
        failed: The ids of those in which something failed.
        count: The number of conversations to take of each request, of those at the edges of requests, of the most
            surprising, and of those that failed. One may be taken for several reasons.
        seed: Seed of what is taken of each request and of what failed.
    """
    rows = request_rows(report)
    names = {group.id: group.name for group in report.groups["message"]}
    examples = _examples(report, rows, np.isin(list(report.ids), [*failed]), count, seed)
    places = {report.ids[place]: place for place in examples}
    listed = _listed_groups(report)
    for conversation in conversations:
        place = places.get(conversation["id"])
        if place is None:
            continue
        row = int(rows[place])
        group = int(listed[row])
        told = {SAMPLED_AS: examples[place], REQUEST_TURN: int(report.messages["turn"][row])}
        told |= {GROUP: group, GROUP_NAME: names[group]} if group in names else {}
        yield {**conversation, **{label_column(name, conversation): value for name, value in told.items()}}


def request_rows(report: Report) -> IntArray:
    """The message that is the request of each conversation: the first that is in a listed one (m,).

    Where none is, the first that is a request, else the asker's first, else the first.
    """
    columns = report.messages
    asked = np.asarray([role == report.speakers.asker for role in report.roles], bool)[columns["role"]]
    rank = np.select([_listed_groups(report) >= 0, columns["request"], asked], [0, 1, 2], 3)
    order = np.lexsort((np.arange(len(rank)), rank, columns["conversation"]))
    return order[np.unique(columns["conversation"][order], return_index=True)[1]]


def _listed_groups(report: Report) -> IntArray:
    """The group of each message, -1 if it is in none that is listed as a request (n,)."""
    groups = report.messages["group"]
    return np.where(np.isin(groups, sorted(report.listed)), groups, -1)


def has_failed(conversation: Mapping[str, Any]) -> bool:
    """Return true if a conversation or a message has an ``error``, or feedback that is ``negative``."""
    fields = chain.from_iterable(place.items() for place in (conversation, *conversation["messages"]))
    return any(
        (name == "error" and bool(value)) or (name.startswith("feedback") and value == "negative")
        for name, value in fields
    )


def _examples(report: Report, rows: IntArray, failed: np.ndarray, count: int, seed: int) -> dict[int, list[str]]:
    """The request that each conversation taken is an example of, by its place."""
    taken: dict[int, list[str]] = {}

    def take(reason: str, places: Iterable[int]) -> None:
        for place in list(dict.fromkeys(places))[:count]:
            taken.setdefault(int(place), []).append(reason)

    by_chance = np.argsort(keys_of(report.ids, seed), kind="stable")
    groups = _listed_groups(report)[rows]
    for group in np.unique(groups):
        take("request" if group >= 0 else "no request", by_chance[groups[by_chance] == group].tolist())
    place_of = {row: place for place, row in enumerate(rows.tolist())}
    edges = [
        [place_of[row] for row in group.edge if row in place_of] for group in report.groups["message"] if group.level
    ]
    take("edge", [place for turn in zip_longest(*edges) for place in turn if place is not None])
    surprise = report.conversations.get("surprise")
    if surprise is not None:
        most = np.argsort(-surprise, kind="stable")  # those that are not known are the last
        take("surprising", most[: int((~np.isnan(surprise)).sum())].tolist())
    take("failed", by_chance[failed[by_chance]].tolist())
    return taken


def _message(conversation: Mapping[str, Any], turn: int) -> Mapping[str, Any]:
    messages = conversation["messages"]
    return messages[turn] if 0 <= turn < len(messages) else {}
