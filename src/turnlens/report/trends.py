"""Growth: the last full day, week or month beside all the time before it."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, sqrt
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from turnlens._utils.vectors import BoolArray, FloatArray

Z_95 = NormalDist().inv_cdf(0.975)  # of intervals of 95 %
Period = Literal["day", "week", "month"]
DAYS: dict[Period, int] = {"day": 1, "week": 7, "month": 30}
_DAY = 86_400.0
_LONGEST: dict[Period, float] = {"day": 14, "week": 60}  # days of data, up to which a period is compared
_STRAY = 0.01  # of the conversations at each end of the time: they decide neither its span nor where it ends
FEW = 10  # conversations of a period, or values of a number, tell nothing yet; numbers.js says the same


@dataclass(frozen=True)
class Trend:
    """Two times that are compared.

    Attributes:
        recent: The conversations of the last full period (m,).
        earlier: Those before it (m,).
    """

    recent: BoolArray
    earlier: BoolArray

    def counts(self, members: BoolArray) -> tuple[int, int]:
        """The number of some conversations (m,) in the last period, and before it."""
        return int((members & self.recent).sum()), int((members & self.earlier).sum())

    def growth(self, members: BoolArray) -> tuple[float, float, float] | None:
        """The share of some conversations (m,) in the last period less that before it, and its interval of 95 %.

        ``None`` where there are too few conversations of any kind in either.
        """
        recent, earlier = int(self.recent.sum()), int(self.earlier.sum())
        if min(recent, earlier) < FEW:
            return None
        after, before = self.counts(members)
        share, low, high = wilson(after / recent, recent)
        former, former_low, former_high = wilson(before / earlier, earlier)
        below, above = hypot(share - low, former_high - former), hypot(high - share, former - former_low)
        return share - former, share - former - below, share - former + above


def span_of(times: FloatArray) -> tuple[float, float] | None:
    """The first and the last of some times, apart from a few stray ones; ``None`` if none is known.

    Args:
        times: Seconds since 1970, NaN where not known (m,).
    """
    known = np.sort(times[~np.isnan(times)])
    if not len(known):
        return None
    stray = int(np.ceil(_STRAY * (len(known) - 1)))
    return float(known[min(stray, len(known) // 2)]), float(known[max(len(known) - 1 - stray, len(known) // 2)])


def usual_period(times: FloatArray) -> Period:
    """The period that suits the span of some times: days of two weeks, weeks of two months, else months."""
    first, last = span_of(times) or (0.0, 0.0)
    return next((period for period, days in _LONGEST.items() if last - first <= days * _DAY), "month")


def starts_of(times: FloatArray, period: Period) -> NDArray[np.datetime64]:
    """The day, the Monday or the month in which each of some known times is (n,), in UTC."""
    days = times.astype("datetime64[s]").astype("datetime64[D]")
    if period == "week":
        return days - (days.astype(int) + 3) % 7  # 1970 began on a Thursday
    return days.astype("datetime64[M]") if period == "month" else days


def trend_of(times: FloatArray, period: Period | None = None) -> Trend | None:
    """The last full period, which ends with the data, and the time before it; ``None`` where no two times are known.

    Args:
        times: The time of each conversation in seconds, NaN where not known (m,).
        period: The period; by default the one that suits the span of the data.
    """
    span = span_of(times)
    if span is None or span[0] == span[1]:
        return None
    first, last = span
    start = last - DAYS[period or usual_period(times)] * _DAY
    return Trend((times > start) & (times <= last), (times <= start) & (times >= first))


def wilson(share: float, total: int, z: float = Z_95) -> tuple[float, float, float]:
    """A share and its interval (Wilson 1927); Newcombe's interval of a difference (1998, method 10) is made of two."""
    middle = (share + z**2 / (2 * total)) / (1 + z**2 / total)
    half = z / (1 + z**2 / total) * sqrt(share * (1 - share) / total + z**2 / (4 * total**2))
    return float(share), max(middle - half, 0.0), min(middle + half, 1.0)
