"""The groups of a report as a table: a row for each message, or for each conversation."""

from __future__ import annotations

import json
import os
from collections.abc import Container
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from turnlens._utils.files import atomic_path, check_file
from turnlens._utils.text_values import without_formula
from turnlens._utils.vectors import BoolArray
from turnlens.groups.group_memory import Kind
from turnlens.report.corpus import DURATION
from turnlens.report.failure_signals import SIGNALS
from turnlens.report.label_columns import Label
from turnlens.report.report import Report

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
        rows: Which messages or conversations to include; by default all.
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
    group_ids = columns["group"]
    names = {group.id: group.name for group in report.groups[kind]}
    parents = {group.id: group.parent for group in report.groups[kind]}
    coarse_ids = np.asarray([parents.get(id, -1) for id in group_ids.tolist()], np.int32)
    for name, values in (("group", group_ids), ("coarse_group", coarse_ids)):
        table[name] = pa.array(values, mask=values < 0)
        table[f"{name}_name"] = pa.array([names.get(id) for id in values.tolist()], pa.string())
    table |= {label_column(name, table): values for name, values in _labels(report, kind).items()}
    return pa.table(table) if rows is None else pa.table(table).filter(pa.array(rows))


def label_column(name: str, columns: Container[str]) -> str:
    """The column of a label, which must not take the name of another column."""
    return f"label_{name}" if name in columns else name


def _labels(report: Report, kind: Kind) -> dict[str, pa.Array]:
    """The labels; what is measured, as numbers."""
    rows = report.messages["conversation"] if kind == "message" else np.arange(len(report.ids))
    shown = set(report.numbers)
    if kind == "message":
        shown -= {DURATION, *SIGNALS, *report.message_numbers} - set(report.conversation_labels)
    labels = {name: _known(values[rows]) for name, values in report.numbers.items() if name in shown}
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
            _write_sheet(table, temporary)
        elif path.suffix.lower() == ".csv":
            pyarrow.csv.write_csv(_without_formulas(table), temporary)
        else:
            _write_lines(table, temporary)


def _without_formulas(table: pa.Table) -> pa.Table:
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            cells = [without_formula(value) for value in table[place].to_pylist()]
            table = table.set_column(place, field, pa.array(cells, field.type))
    return table


def _write_sheet(table: pa.Table, path: Path) -> None:
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    if len(table) >= _SHEET_ROWS:
        raise ValueError(f"a spreadsheet holds {_SHEET_ROWS - 1:,} rows, got {len(table):,}: write .csv or .parquet")
    book = Workbook(write_only=True)
    sheet = book.create_sheet()

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub(" ", value)[:_CELL_CHARACTERS])
        text.data_type = "s"  # also if it looks like a formula
        return text

    sheet.append(table.column_names)
    for batch in table.to_batches(_ROWS_AT_ONCE):
        for row in batch.to_pylist():
            sheet.append([cell(value) for value in row.values()])
    book.save(path)


def _write_lines(table: pa.Table, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for batch in table.to_batches(_ROWS_AT_ONCE):
            file.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in batch.to_pylist())
