"""The report as a table for `embedding-atlas`: a row for each message, with its place on the map."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from turnwise._utils.files import atomic_path
from turnwise.explorer.groups.memory import Kind
from turnwise.explorer.labels import Label
from turnwise.explorer.report.report import Report


def write_atlas(report: Report, path: str | os.PathLike[str]) -> None:
    """Write a Parquet file for ``embedding-atlas FILE --text text --x projection_x --y projection_y``.

    Args:
        report: The report.
        path: The file.
    """
    with atomic_path(Path(path)) as temporary:
        pq.write_table(atlas_table(report), temporary)


def atlas_table(report: Report) -> pa.Table:
    """The messages with text, projection_x, projection_y, and everything else that is known about them."""
    messages, rows = report.messages, report.messages["conversation"]
    names = {kind: {group.id: group.name for group in report.groups[kind]} for kind in report.groups}
    parents = {group.id: group.id if group.parent is None else group.parent for group in report.groups["message"]}
    topics = report.conversations["group"][rows]
    columns: dict[str, Any] = {
        "text": pa.array([text.encode("utf-8", "replace").decode() for text in report.texts], pa.string()),
        "projection_x": messages["x"],
        "projection_y": messages["y"],
        "conversation": _chosen(report.ids, rows),
        "turn": messages["turn"],
        "role": _chosen(report.roles, messages["role"]),
        "time": _times(messages["time"]),
        "group": _named(names["message"], messages["group"]),
        "coarse_group": _named(names["message"], np.array([parents.get(id, -1) for id in messages["group"].tolist()])),
        "topic": _named(names["conversation"], topics),
        "surprise": pa.array(messages["surprise"], from_pandas=True),
    }
    columns |= _labels(report, "message", None) | _labels(report, "conversation", rows)
    return pa.table(columns)


def _times(seconds: np.ndarray) -> pa.Array:
    unknown = np.isnan(seconds)
    milliseconds = np.where(unknown, 0, 1000 * seconds).astype(np.int64)
    return pa.array(milliseconds, pa.timestamp("ms", "UTC"), mask=unknown)


def _labels(report: Report, kind: Kind, rows: np.ndarray | None) -> dict[str, Any]:
    labels: dict[str, Label] = dict(report.message_labels if kind == "message" else report.conversation_labels)
    return {
        f"{kind}_{name}": _chosen([*label.values, None], label.codes if rows is None else label.codes[rows])
        for name, label in labels.items()
    }


def _chosen(values: Any, codes: np.ndarray) -> pa.Array:
    """The value of each code; the code -1 gets the last value."""
    texts = list(values)
    return pa.array([texts[code] for code in codes.tolist()], pa.string())


def _named(names: dict[int, str], ids: np.ndarray) -> pa.Array:
    return pa.array([names.get(id) for id in ids.tolist()], pa.string())
