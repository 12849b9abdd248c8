"""Labels of messages or conversations as codes, if they have few enough values to choose from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from turnwise.store.records import TIME_NAMES

MOST_VALUES = 200  # of a label that can still be chosen from a list


@dataclass(frozen=True)
class Label:
    """A label of messages or conversations, with its value in each row.

    Attributes:
        values: Its values, sorted.
        codes: The value of each row, -1 for none, int32 (rows,).
    """

    values: tuple[str, ...]
    codes: np.ndarray


class Labels:
    """Collects the labels of a given number of rows. Labels with too many values are left out."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._codes: dict[str, np.ndarray] = {}
        self._values: dict[str, dict[str, int]] = {}

    def set(self, row: int, fields: Mapping[str, Any]) -> None:
        """Record the labels of a row."""
        for name, value in fields.items():
            if value is None or value == [] or name in TIME_NAMES:
                continue
            if name not in self._codes:
                self._codes[name] = np.full(self._rows, -1, np.int32)
                self._values[name] = {}
            values = self._values[name]
            if len(values) <= MOST_VALUES:
                self._codes[name][row] = values.setdefault(_text(value), len(values))

    def finished(self) -> dict[str, Label]:
        """The labels by their names."""
        labels = {}
        for name, values in sorted(self._values.items()):
            if len(values) > MOST_VALUES:
                continue
            ordered = sorted(values)
            place = np.asarray([ordered.index(value) for value in values] + [-1], np.int32)
            labels[name] = Label(tuple(ordered), place[self._codes[name]])
        return labels


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(sorted(_text(item) for item in value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
