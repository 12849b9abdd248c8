"""Labels of messages or conversations: codes where they have few enough values, and numbers where they measure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from turnlens._utils.text_values import are_durations, minutes_of
from turnlens.formats.call_sessions import SUMMED
from turnlens.formats.column_names import tells_how_long
from turnlens.store.records import TIME_NAMES

MOST_VALUES = 200  # of a label that can still be chosen from a list
_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d+)?([eE][-+]?\d+)?\s*")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?(\d{1,3}(\.\d{3})+,\d+|\d+,(?!\d{3}\s*$)\d+)\s*")  # 1,234 may be either
_GROUPING_COMMA = re.compile(r"\s*[-+]?\d{1,3}(,\d{3})+\.\d+\s*")
_NOT_KNOWN = frozenset(["n/a", "na", "#n/a", "nan", "null", "none", "nil", "-", "–", "—", "?"])  # in place of a number
_NO_AND_YES = {("no", "yes"), ("false", "true")}
_TIMES = frozenset({*TIME_NAMES, "start", "end"})
_VERSION = re.compile(r"(?:\b|_)version|Version")
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

    @property
    def yes_or_no(self) -> np.ndarray | None:
        """1 for yes and 0 for no, NaN where there is none (rows,); ``None`` if its values are others."""
        is_answer = tuple(map(str.casefold, self.values)) in _NO_AND_YES
        return np.where(self.codes < 0, np.nan, self.codes) if is_answer else None


class Labels:
    """Collects the labels of a given number of rows. Labels with too many values are left out.

    Args:
        rows: The number of rows.
        first: For messages, the first row of each conversation: a number that counts from there is left out.
    """

    def __init__(self, rows: int, first: np.ndarray | None = None) -> None:
        self._rows, self._first = rows, first
        self._codes: dict[str, np.ndarray] = {}
        self._values: dict[str, dict[str, int]] = {}
        self._numbers: dict[str, np.ndarray | None] = {}
        self._parts: dict[str, int] = {}

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
            number, parts = _number(value)
            if number is None and str(value).strip().casefold() in _NOT_KNOWN:
                continue
            numbers = self._numbers[name]
            if numbers is not None and number is not None and self._parts.setdefault(name, parts) == parts:
                numbers[row] = number
            else:
                self._numbers[name] = None

    def finished(self) -> dict[str, Label]:
        """The labels by their names."""
        counters = {name for name, values in self._measured().items() if self._count(values)}
        few = {
            name: values
            for name, values in sorted(self._values.items())
            if len(values) <= MOST_VALUES and name not in counters
        }
        return {name: Label.of(list(values), self._codes[name]) for name, values in few.items()}

    def numbers(self) -> dict[str, np.ndarray]:
        """The labels that measure something, by their names: a number for each row, NaN where there is none (rows,)."""
        return {name: values for name, values in self._measured().items() if not self._count(values)}

    def _measured(self) -> dict[str, np.ndarray]:
        known = {name: values for name, values in sorted(self._numbers.items()) if values is not None}
        return {name: values for name, values in known.items() if _measures(name, values, self._parts.get(name, 1))}

    def _count(self, values: np.ndarray) -> bool:
        """Return whether values (n,) count rows: they begin alike in each conversation, and rise by whole numbers."""
        if self._first is None:
            return False
        steps = np.delete(np.diff(values), self._first[1:] - 1)
        return bool(len(steps) and (steps >= 1).all() and (steps % 1 == 0).all() and np.ptp(values[self._first]) == 0)


def _measures(name: str, values: np.ndarray, parts: int) -> bool:
    known = values[~np.isnan(values)]
    is_time_of_day = parts > 1 and not tells_how_long(name) and not are_durations(known, parts)
    if name in _TIMES or _VERSION.search(name) or is_time_of_day:
        return False
    different = len(np.unique(known))
    least = 1 if name == "errors" else 2  # that nothing failed is a result
    are_numbered = different == len(known) >= _IDENTIFIERS and bool((known == np.round(known)).all())
    return different >= least and (not are_numbered or name in SUMMED)  # those are what logs of assistants measure


def _number(value: Any) -> tuple[float | None, int]:
    """A number, and of how many parts it is: those of durations, else 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None, 1
    if isinstance(value, str):
        if ":" in value:
            return minutes_of(value)
        if _DECIMAL_COMMA.fullmatch(value):
            value = value.replace(".", "").replace(",", ".")
        elif _GROUPING_COMMA.fullmatch(value):
            value = value.replace(",", "")
        if not _NUMBER.fullmatch(value):
            return None, 1
    return float(value), 1


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(sorted(_text(item) for item in value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
