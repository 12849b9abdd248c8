"""Numbers of conversations, such as ratings and durations: one value that says most of a group, and its interval."""

from __future__ import annotations

from math import ceil, sqrt
from typing import Literal, NamedTuple

import numpy as np

from turnlens._utils.vectors import BoolArray, FloatArray
from turnlens.report.corpus import DURATION
from turnlens.report.report import Report
from turnlens.report.trends import Z_95, wilson

NumberKind = Literal["share", "rating", "count", "amount"]
STATISTICS: dict[NumberKind, str] = {"share": "", "rating": "mean", "count": "mean", "amount": "median"}
_COUNTED = ("errors", "calls", "branches")
_TINY = 0.01  # below which two places after the point say too little
LEAST_SHOWN = 5  # values of which a mean, a share or a median is shown; numbers.js says the same
_RATINGS = 11  # whole numbers, such as 0 to 10


class Typical(NamedTuple):
    """The share, mean or median of some values, and its interval, NaN where there are too few.

    Attributes:
        known: The number of values.
        value: The share, mean or median.
        low: The lower end of its interval.
        high: The upper end.
    """

    known: int
    value: float
    low: float
    high: float


def number_kind(name: str, values: FloatArray) -> NumberKind:
    """Return the kind of a number: a share of yes or no, a rating of few whole numbers, a count, or an amount.

    Examples:
        >>> number_kind("rating", np.array([1.0, 5.0, 3.0])), number_kind("cost", np.array([0.1, 2.5]))
        ('rating', 'amount')
    """
    known = np.unique(values[~np.isnan(values)])
    if np.isin(known, (0, 1)).all():
        return "share"
    is_rating = len(known) <= _RATINGS and known[0] >= 0 and known[-1] <= 10 and bool((known % 1 == 0).all())
    if name == DURATION or not is_rating:
        return "amount"
    return "count" if name in _COUNTED else "rating"


def typical(values: FloatArray, kind: NumberKind, wider: float = 1.0, deviation: float = np.nan) -> Typical:
    """Return what is typical of some values, of which NaN are not known.

    Args:
        values: The values (n,).
        kind: Their kind.
        wider: Deviations of the interval, as a multiple of those of one of 95 %.
        deviation: The standard deviation of all values that these are compared with, for the interval of a mean. Few
            ratings do not tell theirs: those that are all 5 would be surely above a mean of 4.9.

    Examples:
        >>> typical(np.array([1.0, 2.0, 900.0, np.nan]), "amount").value
        2.0
    """
    known = np.sort(values[~np.isnan(values)])
    count, z = len(known), wider * Z_95
    if not count:
        return Typical(0, np.nan, np.nan, np.nan)
    if kind == "share":
        return Typical(count, *wilson(float(known.mean()), count, z))
    if kind == "amount":  # by order statistics
        low, high = int(count / 2 - z * sqrt(count) / 2), ceil(count / 2 + z * sqrt(count) / 2)
        bounds = (float(known[low]), float(known[high])) if low > 0 and high < count else (np.nan, np.nan)
        return Typical(count, float(np.median(known)), *bounds)
    mean, half = float(known.mean()), z * deviation / sqrt(count)
    return Typical(count, mean, mean - half, mean + half)


def members(report: Report, group: int) -> BoolArray:
    """Return the conversations that have a message of a group (m,)."""
    inside = np.zeros(len(report.ids), bool)
    inside[report.messages["conversation"][report.messages["group"] == group]] = True
    return inside


def plain_number(value: float) -> str:
    """Write a number as people do, with no more digits than tell something.

    Examples:
        >>> [plain_number(value) for value in (1060.4, 12.5, 3.0, 0.128, 0.00123)]
        ['1,060', '12.5', '3', '0.13', '0.0012']
    """
    if value and abs(value) < _TINY:
        return f"{value:.2g}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    shown = f"{value:,.{digits}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown
