"""Durations written as 10:48 (minutes and seconds) or 00:10:48, told apart from times of day."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

_CLOCK = re.compile(r"\s*(?:(\d{1,4}):)?(\d{1,4}):([0-5]\d)\s*")
_HOURS_OF_DAY = 24
_LONG = 60  # minutes: most times of day in three parts are more, and most durations less


def minutes_of(text: str) -> tuple[float | None, int]:
    """A text such as 10:48 or 00:10:48 in minutes, and of how many parts it is; ``(None, 0)`` for any other.

    >>> minutes_of("10:48"), minutes_of("1:10:48"), minutes_of("10.48")
    ((10.8, 2), (70.8, 3), (None, 0))
    """
    if (clock := _CLOCK.fullmatch(text)) is None:
        return None, 0
    hours, minutes, seconds = (int(part or 0) for part in clock.groups())
    return hours * 60 + minutes + seconds / 60, 2 if clock[1] is None else 3


def are_durations(minutes: Sequence[float] | np.ndarray, parts: int) -> bool:
    """Whether all values of a column, as `minutes_of` gives them, are durations rather than times of day.

    In two parts they are if one begins with 24 or more, as no time of day does; in three, if half are below an hour.

    Args:
        minutes: The values, at least one, without NaN.
        parts: Of how many parts each is.
    """
    return bool(np.max(minutes) >= _HOURS_OF_DAY if parts == 2 else np.median(minutes) < _LONG)
