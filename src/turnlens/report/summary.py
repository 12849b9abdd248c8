"""The summary of a report: a row for each group of messages, with its conversations, growth, numbers and examples.

Shares are of conversations, since messages of one conversation are not independent.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import hypot, sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from turnlens._utils.files import atomic_path
from turnlens._utils.vectors import BoolArray, FloatArray, IntArray
from turnlens.report.report import Group, Report
from turnlens.store.rewrites import OVERVIEW_FILE

Z_95 = NormalDist().inv_cdf(0.975)  # of intervals of 95 %
_KINDS = ("request", "message", "answer", "along the way", "no request")  # in this order
_KEYWORDS = 5
MOST_VALUES = 20  # of a category whose values have columns
Period = Literal["half", "week", "month"]
_SECONDS = {"week": 7 * 86400.0, "month": 30 * 86400.0}
_FIELDS = {
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
    "example_2": pa.string(),
    "next_message": pa.string(),
}


def summary_table(report: Report, groups: Sequence[Group], period: Period = "half") -> pa.Table:
    """A row for each group of messages: requests first, and each kind by its number of conversations.

    Args:
        report: The report.
        groups: The groups, which are fine ones.
        period: Growth compares the last week or month (30 days) with the one before, or the later half of the time
            with the earlier.

    Returns:
        The columns group and group_name; kind, which is request, answer or along the way, or message where nobody is
        known to ask; role; conversations, and their share of those in which this role speaks; growth, by how much this
        share is larger in the later period than in the one before, with its interval (95 %) from growth_low to
        growth_high, empty without times; keywords; example and example_2, the most typical messages; and next_message,
        the most typical that others say next. For each number that conversations have, such as a rating, NAME_mean,
        NAME_sd (the standard deviation) and NAME_known, in how many of the conversations it is known. For each value of
        each category with at most 20, a column "NAME: VALUE" with the number of conversations. The last row, of the
        kind no request, counts the conversations in which the asker has no message in a listed request.
    """
    conversation, fine = report.messages["conversation"], report.messages["group"]
    everybody = {role: _speaking(report, role) for role in {group.role for group in groups}}
    asked = np.zeros(len(report.ids), bool)
    rows: list[dict[str, Any]] = []
    for group in groups:
        members = np.zeros(len(report.ids), bool)
        members[conversation[fine == group.id]] = True
        kind = _kind(group, report.speakers.asker)
        asked |= members & (kind == "request")
        rows.append(
            {
                "group": group.id,
                "group_name": group.name,
                "kind": kind,
                "role": group.role,
                "keywords": ", ".join(group.phrases[:_KEYWORDS]),
                **{name: report.text_of(row) for name, row in zip(("example", "example_2"), group.central)},
                "next_message": None if group.answer is None else report.text_of(group.answer),
                **_counts(report, members, *everybody[group.role], period),
            }
        )
    if asked.any():
        speaking, times = everybody[report.speakers.asker]
        rest = {"kind": "no request", "role": report.speakers.asker}
        rows.append({**rest, **_counts(report, speaking & ~asked, speaking, times, period)})
    rows.sort(key=lambda row: (_KINDS.index(row["kind"]), -row["conversations"], row.get("group", -1)))
    return pa.Table.from_pylist(rows, pa.schema({**_FIELDS, **_further_fields(report)}))


def _further_fields(report: Report) -> dict[str, pa.DataType]:
    kinds = {"mean": pa.float64(), "sd": pa.float64(), "known": pa.int32()}
    numbers = {f"{name}_{what}": kind for name in report.numbers for what, kind in kinds.items()}
    categories = report.categories(MOST_VALUES).items()
    return numbers | {f"{name}: {value}": pa.int32() for name, label in categories for value in label.values}


def _counts(
    report: Report, members: BoolArray, speaking: BoolArray, times: FloatArray, period: Period
) -> dict[str, Any]:
    """Count conversations: their number, the growth of their share, their measures and categories."""
    growth, low, high = _growth(members, times, period) or (None, None, None)
    counts: dict[str, Any] = {
        "conversations": int(members.sum()),
        "share": int(members.sum()) / max(int(speaking.sum()), 1),
        "growth": growth,
        "growth_low": low,
        "growth_high": high,
    }
    for name, values in report.numbers.items():
        known = values[members & ~np.isnan(values)]
        counts |= {
            f"{name}_mean": float(known.mean()) if len(known) else None,
            f"{name}_sd": float(known.std(ddof=1)) if len(known) > 1 else None,
            f"{name}_known": len(known),
        }
    for name, label in report.categories(MOST_VALUES).items():
        of_values = np.bincount(label.codes[members] + 1, minlength=len(label.values) + 1)[1:]
        counts |= {f"{name}: {value}": int(count) for value, count in zip(label.values, of_values)}
    return counts


def _kind(group: Group, asker: str | None) -> str:
    if group.move:
        return "along the way"
    if asker is None:
        return "message"
    return "request" if group.role == asker else "answer"


def _speaking(report: Report, role: str | None) -> tuple[BoolArray, FloatArray]:
    """In which conversations a role speaks (m,), or anybody; and the time of its first message there, if known (m,)."""
    columns = report.messages
    own = np.arange(len(report.texts)) if role is None else np.flatnonzero(columns["role"] == report.roles.index(role))
    conversations, first = np.unique(columns["conversation"][own], return_index=True)
    speaking, times = np.zeros(len(report.ids), bool), np.full(len(report.ids), np.nan)
    speaking[conversations] = True
    known = columns["time"][own[first]]
    times[conversations] = np.where(np.isnan(known), report.conversations["time"][conversations], known)
    return speaking, times


def _growth(members: BoolArray, times: FloatArray, period: Period) -> tuple[float, float, float] | None:
    """The share of some conversations in the later period less that in the one before, and its interval."""
    known = ~np.isnan(times)
    if known.sum() < 2 or times[known].max() == times[known].min():
        return None
    first, last = times[known].min(), times[known].max()
    start = (first + last) / 2 if period == "half" else last - _SECONDS[period]
    after = members[known & (times >= start)]
    before = members[known & (times < start) & (times >= (first if period == "half" else start - _SECONDS[period]))]
    if not len(before):
        return None
    (share, low, high), (earlier, earlier_low, earlier_high) = (
        wilson(part.mean(), len(part)) for part in (after, before)
    )
    change = share - earlier
    return (
        change,
        change - hypot(share - low, earlier_high - earlier),
        change + hypot(high - share, earlier - earlier_low),
    )


def wilson(share: float, total: int) -> tuple[float, float, float]:
    """A share and its interval (Wilson 1927); Newcombe's interval of a difference (1998, method 10) is made of two."""
    middle = (share + Z_95**2 / (2 * total)) / (1 + Z_95**2 / total)
    half = Z_95 / (1 + Z_95**2 / total) * sqrt(share * (1 - share) / total + Z_95**2 / (4 * total**2))
    return float(share), max(middle - half, 0.0), min(middle + half, 1.0)


_EXAMPLES = 5
_MOST_DAYS = 92  # that are counted one by one; a longer time is counted by months
_TEXTS = ("example", "example_2", "next_message")


def write_summary(store: Path, report: Report) -> None:
    """Keep a summary of the groups of messages in a store."""
    groups = {group.id: group for group in report.groups["message"] if group.level == 1}
    times = report.messages["time"]
    times = np.where(np.isnan(times), report.conversations["time"][report.messages["conversation"]], times)
    known = times[~np.isnan(times)]
    period = "day" if len(known) and np.ptp(known) <= _MOST_DAYS * 86_400 else "month"

    def counts(rows: IntArray) -> dict[str, int]:
        """Count the conversations that have some of the messages, by the time of the first of them."""
        rows = rows[~np.isnan(times[rows])]
        _, first = np.unique(report.messages["conversation"][rows], return_index=True)
        dates = times[rows[first]].astype("datetime64[s]").astype(f"datetime64[{period[0].upper()}]")
        values, numbers = np.unique(dates, return_counts=True)
        return dict(zip(values.astype(str).tolist(), numbers.tolist()))

    def places(rows: Sequence[int]) -> list[tuple[str, int]]:
        columns = report.messages
        return [(report.ids[columns["conversation"][row]], int(columns["turn"][row])) for row in rows]

    described = []
    for row in summary_table(report, list(groups.values())).to_pylist():
        if row["group"] is None:  # those without a request
            continue
        group = groups[row["group"]]
        described.append(
            {name: value for name, value in row.items() if name not in _TEXTS}
            | {
                "examples": places(group.central[:_EXAMPLES]),
                "answers": places([] if group.answer is None else [group.answer]),
                "counts": counts(np.flatnonzero(report.messages["group"] == group.id)),
            }
        )
    overview = {
        "made": report.made,
        "period": period,
        "conversations": len(report.ids),
        "counts": counts(np.arange(len(report.texts))),
        "groups": described,
    }
    with atomic_path(store / OVERVIEW_FILE) as temporary:
        temporary.write_text(json.dumps(overview, ensure_ascii=False), encoding="utf-8")


def read_summary(store: Path) -> dict[str, Any]:
    """Read the summary of a store's groups.

    Raises:
        ValueError: No groups have been found in it.
    """
    try:
        return json.loads((store / OVERVIEW_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{store.name} has no groups yet: turnlens explore --store {store.name} finds them") from None
