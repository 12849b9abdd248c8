"""Labels of messages or conversations: codes where they have few enough values, and numbers where they measure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from turnwise.store.records import TIME_NAMES

MOST_VALUES = 200  # of a label that can still be chosen from a list
_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d+)?([eE][-+]?\d+)?\s*")
_TIMES = frozenset({*TIME_NAMES, "start", "end"})
_IDENTIFIERS = 50  # so many different whole numbers, of which none occurs twice, number something and measure nothing


@dataclass(frozen=True)
class Label:
    """A label of messages or conversations, with its value in each row.

    Attributes:
        values: Its values, sorted.
        codes: The value of each row, -1 for none, int32 (rows,).
    """

    values: tuple[str, ...]
    codes: np.ndarray

    @classmethod
    def of(cls, values: Sequence[str], codes: np.ndarray) -> Label:
        """A label from values in any order, and the place among them of that of each row, -1 for none (rows,)."""
        order = sorted(range(len(values)), key=values.__getitem__)
        place = np.full(len(values) + 1, -1, np.int32)
        place[order] = np.arange(len(values))
        return cls(tuple(values[at] for at in order), place[codes])


class Labels:
    """Collects the labels of a given number of rows. Labels with too many values are left out."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._codes: dict[str, np.ndarray] = {}
        self._values: dict[str, dict[str, int]] = {}
        self._numbers: dict[str, np.ndarray | None] = {}

    def set(self, row: int, fields: Mapping[str, Any]) -> None:
        """Record the labels of a row."""
        for name, value in fields.items():
            if value in (None, [], "") or name in TIME_NAMES:
                continue
            if name not in self._codes:
                self._codes[name] = np.full(self._rows, -1, np.int32)
                self._values[name] = {}
                self._numbers[name] = np.full(self._rows, np.nan)
            values = self._values[name]
            if len(values) <= MOST_VALUES:
                self._codes[name][row] = values.setdefault(_text(value), len(values))
            if (numbers := self._numbers[name]) is not None and (number := _number(value)) is not None:
                numbers[row] = number
            else:
                self._numbers[name] = None

    def finished(self) -> dict[str, Label]:
        """The labels by their names."""
        labels = {}
        for name, values in sorted(self._values.items()):
            if len(values) > MOST_VALUES:
                continue
            labels[name] = Label.of(list(values), self._codes[name])
        return labels

    def numbers(self) -> dict[str, np.ndarray]:
        """The labels that measure something, by their names: a number for each row, NaN where there is none (rows,)."""
        known = {name: values for name, values in sorted(self._numbers.items()) if values is not None}
        return {name: values for name, values in known.items() if _measures(name, values)}


def _measures(name: str, values: np.ndarray) -> bool:
    if name in _TIMES:
        return False
    known = values[~np.isnan(values)]
    different = len(np.unique(known))
    is_identifier = different == len(known) >= _IDENTIFIERS and bool((known == np.round(known)).all())
    return different > 1 and not is_identifier


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    return float(value) if not isinstance(value, str) or _NUMBER.fullmatch(value) else None


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(sorted(_text(item) for item in value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
