"""The groups of a report as a table: a row for each message, or for each conversation."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from turnwise._utils.csv_cells import without_formula
from turnwise._utils.files import atomic_path, check_file
from turnwise._utils.vectors import BoolArray
from turnwise.explorer.groups.memory import Kind
from turnwise.explorer.report.report import Report

_ENDINGS = (".parquet", ".csv", ".jsonl")
_ROWS_AT_ONCE = 10_000


def groups_table(report: Report, kind: Kind, rows: BoolArray | None = None) -> pa.Table:
    """The groups of all messages or conversations.

    Args:
        report: The report.
        kind: ``"message"`` gives the columns id, turn, role and text; ``"conversation"`` gives id and turns. Both also
            have group and coarse_group, the group of similar groups that it is in, and their names. A value that does
            not exist is null.
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
        }
    else:
        table = {"id": ids, "turns": pa.array(columns["turns"].astype(np.int32))}
    group_ids = columns["group"]
    names = {group.id: group.name for group in report.groups[kind]}
    parents = {group.id: group.parent for group in report.groups[kind]}
    coarse_ids = np.asarray([parents.get(id, -1) for id in group_ids.tolist()], np.int32)
    for name, values in (("group", group_ids), ("coarse_group", coarse_ids)):
        table[name] = pa.array(values, mask=values < 0)
        table[f"{name}_name"] = pa.array([names.get(id) for id in values.tolist()], pa.string())
    return pa.table(table) if rows is None else pa.table(table).filter(pa.array(rows))


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


def _write_lines(table: pa.Table, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for batch in table.to_batches(_ROWS_AT_ONCE):
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())
