"""How large groups are over time, and whether they grow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from turnwise._utils.vectors import FloatArray, IntArray
from turnwise.explorer.intervals import difference, wilson


@dataclass(frozen=True)
class Timeline:
    """The size of a group over time.

    Attributes:
        edges: Borders of the spans in seconds since 1970 (spans + 1,).
        counts: How many of the group in each span (spans,).
        totals: How many of all groups and none (spans,).
        low: Lower ends of the shares' 95 % intervals (Wilson) (spans,).
        high: Their upper ends (spans,).
        change: The group's share in the later half less that in the earlier half, of all that have a time.
        change_low: Lower end of its 95 % interval (Newcombe).
        change_high: Its upper end.
    """

    edges: FloatArray
    counts: IntArray
    totals: IntArray
    low: FloatArray
    high: FloatArray
    change: float
    change_low: float
    change_high: float


def timeline(is_member: IntArray, time: FloatArray, spans: int = 24) -> Timeline | None:
    """The timeline of a group over spans of equal length; ``None`` where fewer than two times are known.

    Args:
        is_member: Whether each item is in the group (n,).
        time: When it was, NaN where not known (n,).
        spans: How many spans.
    """
    known = ~np.isnan(time)
    times, members = np.asarray(time[known], float), np.asarray(is_member, bool)[known]
    if len(times) < 2 or times.min() == times.max():
        return None
    edges = np.linspace(times.min(), times.max(), spans + 1)
    totals, _ = np.histogram(times, edges)
    counts, _ = np.histogram(times[members], edges)
    low, high = wilson(counts, totals)
    later = times >= (edges[0] + edges[-1]) / 2
    change = difference(
        int((members & later).sum()), int(later.sum()), int((members & ~later).sum()), int((~later).sum())
    )
    return Timeline(edges, counts, totals, low, high, *change)
