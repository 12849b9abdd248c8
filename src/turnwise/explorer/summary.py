"""The groups of messages as a short table: in how many conversations each is, whether it grows, and what it says.

Shares are of conversations, since messages of one conversation are not independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa

from turnwise._utils.vectors import BoolArray, FloatArray
from turnwise.explorer.report.report import Group, Report

_Z = NormalDist().inv_cdf(0.975)  # of intervals of 95 %
_KINDS = ("request", "message", "answer", "along the way")  # in this order
_KEYWORDS = 5
_SCHEMA = pa.schema(
    {
        "group": pa.int32(),
        "group_name": pa.string(),
        "kind": pa.string(),
        "role": pa.string(),
        "conversations": pa.int32(),
        "share": pa.float64(),
        "growth": pa.float64(),
        "growth_low": pa.float64(),
        "growth_high": pa.float64(),
        "keywords": pa.string(),
        "example": pa.string(),
        "next_message": pa.string(),
    }
)


def summary_table(report: Report, groups: Sequence[Group]) -> pa.Table:
    """A row for each group of messages: requests first, and each kind by its number of conversations.

    Args:
        report: The report.
        groups: The groups, which are fine ones.

    Returns:
        The columns group and group_name; kind, which is request, answer or along the way, or message where nobody is
        known to ask; role; conversations, and their share of those in which this role speaks; growth, by how much this
        share is larger in the later half of the time than in the earlier, with its interval (95 %) from growth_low to
        growth_high, empty without times; keywords; example, the most typical message; and next_message, the most
        typical that others say next.
    """
    conversation = report.messages["conversation"]
    fine = report.messages["group"]
    everybody = {role: _speaking(report, role) for role in {group.role for group in groups}}
    rows: list[dict[str, Any]] = []
    for group in groups:
        members = np.zeros(len(report.ids), bool)
        members[conversation[fine == group.id]] = True
        speaking, times = everybody[group.role]
        count, total = int(members.sum()), int(speaking.sum())
        growth, low, high = _growth(members, times) or (None, None, None)
        rows.append(
            {
                "group": group.id,
                "group_name": group.name,
                "kind": _kind(group, report.speakers.asker),
                "role": group.role,
                "conversations": count,
                "share": count / max(total, 1),
                "growth": growth,
                "growth_low": low,
                "growth_high": high,
                "keywords": ", ".join(group.phrases[:_KEYWORDS]),
                "example": report.said(group.central[0]),
                "next_message": None if group.answer is None else report.said(group.answer),
            }
        )
    rows.sort(key=lambda row: (_KINDS.index(row["kind"]), -row["conversations"], row["group"]))
    return pa.Table.from_pylist(rows, _SCHEMA)


def _kind(group: Group, asker: str | None) -> str:
    if group.move:
        return "along the way"
    if asker is None:
        return "message"
    return "request" if group.role == asker else "answer"


def _speaking(report: Report, role: str | None) -> tuple[BoolArray, FloatArray]:
    """In which conversations a role speaks (m,), or anybody; and the time of its first message there, if known (m,)."""
    columns = report.messages
    said = np.arange(len(report.texts)) if role is None else np.flatnonzero(columns["role"] == report.roles.index(role))
    conversations, first = np.unique(columns["conversation"][said], return_index=True)
    speaking, times = np.zeros(len(report.ids), bool), np.full(len(report.ids), np.nan)
    speaking[conversations] = True
    own = columns["time"][said[first]]
    times[conversations] = np.where(np.isnan(own), report.conversations["time"][conversations], own)
    return speaking, times


def _growth(members: BoolArray, times: FloatArray) -> tuple[float, float, float] | None:
    """The share of some conversations in the later half of the time less that in the earlier, and its interval."""
    known = ~np.isnan(times)
    if known.sum() < 2 or times[known].max() == times[known].min():
        return None
    later = times >= (times[known].min() + times[known].max()) / 2
    after, before = members[known & later], members[known & ~later]
    (share, low, high), (earlier, earlier_low, earlier_high) = _wilson(after), _wilson(before)
    change = share - earlier
    return (
        change,
        change - hypot(share - low, earlier_high - earlier),
        change + hypot(high - share, earlier - earlier_low),
    )


def _wilson(hits: BoolArray) -> tuple[float, float, float]:
    """A share and its interval (Wilson 1927); Newcombe's interval of a difference (1998, method 10) is made of two."""
    share, total = float(hits.mean()), len(hits)
    middle = (share + _Z**2 / (2 * total)) / (1 + _Z**2 / total)
    half = _Z / (1 + _Z**2 / total) * sqrt(share * (1 - share) / total + _Z**2 / (4 * total**2))
    return share, max(middle - half, 0.0), min(middle + half, 1.0)
