"""The groups of a store in brief, kept beside them, so that a service can show them without reading all messages.

Examples are places, not texts: what was deleted since is not shown.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from turnlens._utils.files import atomic_path
from turnlens._utils.vectors import IntArray
from turnlens.report.report import Report
from turnlens.report.summary import summary_table
from turnlens.store.erasing import OVERVIEW_FILE

_EXAMPLES = 5
_MOST_DAYS = 92  # that are counted one by one; a longer time is counted by months
_TEXTS = ("example", "example_2", "next_message")


def write_overview(store: Path, report: Report) -> None:
    """Keep an overview of the groups of messages in a store."""
    groups = {group.id: group for group in report.groups["message"] if group.level == 1}
    times = report.messages["time"]
    times = np.where(np.isnan(times), report.conversations["time"][report.messages["conversation"]], times)
    known = times[~np.isnan(times)]
    period = "day" if len(known) and np.ptp(known) <= _MOST_DAYS * 86_400 else "month"

    def counts(rows: IntArray) -> dict[str, int]:
        """How many conversations have some of the messages, by the time of the first of them."""
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


def read_overview(store: Path) -> dict[str, Any]:
    """The overview of a store's groups.

    Raises:
        ValueError: No groups have been found in it.
    """
    try:
        return json.loads((store / OVERVIEW_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{store.name} has no groups yet: turnlens explore --store {store.name} finds them") from None
