"""The summary of a report: a row for each group of messages, with its conversations, growth, numbers and examples.

Shares are of conversations, since messages of one conversation are not independent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from turnlens._utils.files import write_text
from turnlens._utils.vectors import BoolArray, FloatArray, IntArray
from turnlens.report.measures import members
from turnlens.report.report import Group, Report
from turnlens.report.trends import Period, Trend, starts_of, trend_of, usual_period
from turnlens.store.rewrites import OVERVIEW_FILE

_KINDS = ("request", "message", "answer", "along the way", "no request")  # in this order
_KEYWORDS = 5
MOST_VALUES = 20  # of a category whose values have columns
_HIGH = 0.75  # share of conversations with a lower number: above is more than usual
_OVER_TIME = ("recent", "earlier", "growth", "growth_low", "growth_high")
_FIELDS = {
    "group": pa.int32(),
    "group_name": pa.string(),
    "kind": pa.string(),
    "role": pa.string(),
    "conversations": pa.int32(),
    "share": pa.float64(),
    **{name: pa.float64() if name.startswith("growth") else pa.int32() for name in _OVER_TIME},
    "keywords": pa.string(),
    "example": pa.string(),
    "example_2": pa.string(),
    "next_message": pa.string(),
}


def summary_table(report: Report, groups: Sequence[Group], period: Period | None = None) -> pa.Table:
    """A row for each group of messages: requests first, and each kind by its number of conversations.

    Args:
        report: The report.
        groups: The groups, which are fine ones.
        period: Growth compares the last day, week or month (30 days) with all before it; by default what suits the
            span of the data. A hundredth of the conversations at each end of the time decides nothing.

    Returns:
        The columns group and group_name; kind, which is request, answer or along the way, or message where nobody is
        known to ask; role; conversations, and their share of those in which this role speaks; recent and earlier, how
        many of them are in the last period and before it; growth, by how much the share is larger there than before,
        with its interval (95 %) from growth_low to growth_high, empty without times and where a period has fewer than
        ten conversations; keywords; example and example_2, the most typical messages; and next_message, the most
        typical that others say next. For each number that conversations have, such as a rating, NAME_median,
        NAME_above (the share in which it is above what three quarters of all conversations have at most, or has the
        highest value, where that is it), NAME_known (in how many of the conversations it is known). For each value of
        each category with at most 20, a column "NAME: VALUE" with the number of conversations. The last row, of the
        kind no request, counts the conversations in which the asker has no message in a listed request.
    """
    everybody = {}
    for role in {group.role for group in groups}:
        speaking, times = spoken_in(report, role)
        everybody[role] = speaking, trend_of(times, period)
    limits = {name: _upper_quartile(values) for name, values in report.numbers.items()}
    asked = np.zeros(len(report.ids), bool)
    rows: list[dict[str, Any]] = []
    for group in groups:
        inside = members(report, group.id)
        kind = _kind(group, report)
        asked |= inside & (kind == "request")
        rows.append(
            {
                "group": group.id,
                "group_name": group.name,
                "kind": kind,
                "role": group.role,
                "keywords": ", ".join(group.phrases[:_KEYWORDS]),
                **{name: report.text_of(row) for name, row in zip(("example", "example_2"), group.central)},
                "next_message": None if group.answer is None else report.text_of(group.answer),
                **_counts(report, inside, *everybody[group.role], limits),
            }
        )
    if asked.any():
        speaking, trend = everybody[report.speakers.asker]
        rest = {"kind": "no request", "role": report.speakers.asker}
        rows.append({**rest, **_counts(report, speaking & ~asked, speaking, trend, limits)})
    rows.sort(key=lambda row: (_KINDS.index(row["kind"]), -row["conversations"], row.get("group", -1)))
    return pa.Table.from_pylist(rows, pa.schema({**_FIELDS, **_further_fields(report)}))


def _further_fields(report: Report) -> dict[str, pa.DataType]:
    kinds = {"median": pa.float64(), "above": pa.float64(), "known": pa.int32()}
    numbers = {f"{name}_{what}": kind for name in report.numbers for what, kind in kinds.items()}
    categories = report.categories(MOST_VALUES).items()
    return numbers | {f"{name}: {value}": pa.int32() for name, label in categories for value in label.values}


def _upper_quartile(values: FloatArray) -> float:
    """Return what three quarters of the known values have at most, but less than the highest, which some are above."""
    known = values[~np.isnan(values)]
    lower = known[known < known.max()]
    return float(min(np.quantile(known, _HIGH, method="lower"), lower.max() if len(lower) else 0.0))


def _counts(
    report: Report, inside: BoolArray, speaking: BoolArray, trend: Trend | None, limits: Mapping[str, float]
) -> dict[str, Any]:
    """Count conversations: their number, the growth of their share, their measures and categories."""
    number = int(inside.sum())
    counts: dict[str, Any] = {"conversations": number, "share": number / max(int(speaking.sum()), 1)}
    if trend is not None:
        counts |= zip(_OVER_TIME, (*trend.counts(inside), *(trend.growth(inside) or ())))
    for name, values in report.numbers.items():
        known = values[inside & ~np.isnan(values)]
        counts |= {
            f"{name}_median": float(f"{np.median(known):.12g}") if len(known) else None,
            f"{name}_above": float((known > limits[name]).mean()) if len(known) else None,
            f"{name}_known": len(known),
        }
    for name, label in report.categories(MOST_VALUES).items():
        of_values = np.bincount(label.codes[inside] + 1, minlength=len(label.values) + 1)[1:]
        counts |= {f"{name}: {value}": int(count) for value, count in zip(label.values, of_values)}
    return counts


def _kind(group: Group, report: Report) -> str:
    if group.move:
        return "along the way"
    if group.id not in report.listed:
        return "answer"
    return "message" if report.speakers.asker is None else "request"


def spoken_in(report: Report, role: str | None) -> tuple[BoolArray, FloatArray]:
    """Return where a role speaks, or anybody (m,); and the time of its first message there, if known (m,)."""
    columns = report.messages
    own = np.arange(len(report.texts)) if role is None else np.flatnonzero(columns["role"] == report.roles.index(role))
    conversations, first = np.unique(columns["conversation"][own], return_index=True)
    speaking, times = np.zeros(len(report.ids), bool), np.full(len(report.ids), np.nan)
    speaking[conversations] = True
    known = columns["time"][own[first]]
    times[conversations] = np.where(np.isnan(known), report.conversations["time"][conversations], known)
    return speaking, times


_EXAMPLES = 5
_TEXTS = ("example", "example_2", "next_message")


def write_summary(store: Path, report: Report) -> None:
    """Keep a summary of the groups of messages in a store."""
    groups = {group.id: group for group in report.groups["message"] if group.level == 1}
    times = report.messages["time"]
    times = np.where(np.isnan(times), report.conversations["time"][report.messages["conversation"]], times)
    period = usual_period(times)

    def counts(rows: IntArray) -> dict[str, int]:
        """Count the conversations that have some of the messages, by the time of the first of them."""
        rows = rows[~np.isnan(times[rows])]
        _, first = np.unique(report.messages["conversation"][rows], return_index=True)
        values, numbers = np.unique(starts_of(times[rows[first]], period), return_counts=True)
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
    write_text(store / OVERVIEW_FILE, json.dumps(overview, ensure_ascii=False))


def read_summary(store: Path) -> dict[str, Any]:
    """Read the summary of a store's groups.

    Raises:
        ValueError: No groups have been found in it.
    """
    try:
        return json.loads((store / OVERVIEW_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{store.name} has no groups yet: turnlens explore --store {store.name} finds them") from None
