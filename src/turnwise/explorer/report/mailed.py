"""The report as one HTML file that can be mailed and printed: the table of requests, and examples if they may leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from turnwise._utils.files import atomic_path
from turnwise.explorer.report.report import Report
from turnwise.explorer.summary import summary_table

_REQUESTS, _WITH_EXAMPLES, _NUMBERS = 20, 12, 4  # that fit on three pages
_LONGEST = 220  # characters of an example
_STYLE = """
@page { size: A4; margin: 15mm }
body { font: 10pt/1.4 system-ui, sans-serif; color: #1a2029; background: #fff; max-width: 60rem; margin: 2rem auto }
h1 { font-size: 1.6em; margin: 0 } h2 { font-size: 1.2em; margin: 1.4em 0 .4em; break-after: avoid }
h3 { font-size: 1em; margin: .9em 0 .2em } p { margin: .2em 0 } .muted { color: #566070 }
article, tr { break-inside: avoid } table { border-collapse: collapse; width: 100% } th { text-align: left }
td, th { padding: .25em .8em .25em 0; border-bottom: 1px solid #d8dde4; vertical-align: top }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
blockquote { margin: .2em 0; padding-left: .7em; border-left: 3px solid #d8dde4; overflow-wrap: anywhere }
@media print { body { margin: 0; padding: 0; max-width: none } }
"""


def write_mailed(report: Report, path: Path, texts: bool = True) -> None:
    """Write the report's requests to an HTML file without scripts, which nothing else belongs to.

    Args:
        report: The report.
        path: The file.
        texts: Show examples. Without them, groups that no user named are named by their keywords.
    """
    groups = [group for group in report.groups["message"] if group.level == 1]
    renamed = {group.id for group in groups if group.renamed}
    rows = summary_table(report, groups).to_pylist()
    requests = [row for row in rows if row["kind"] in ("request", "message")]
    for row in requests:
        if not texts and row["group"] not in renamed:
            row["group_name"] = row["keywords"].replace(", ", " · ") or f"group {row['group']}"
    rest = [row for row in rows if row["kind"] == "no request"]
    title = escape(report.title)
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1>",
        f'<p class="muted">{_about(report)}</p><h2>What do people ask?</h2>',
        _table(report, requests[:_REQUESTS], rest),
        *(["<h2>Examples</h2>", *map(_examples, requests[:_WITH_EXAMPLES])] if texts else []),
        "</body></html>\n",
    ]
    with atomic_path(path) as temporary:
        temporary.write_text("".join(parts), encoding="utf-8", errors="replace")


def _about(report: Report) -> str:
    times = report.messages["time"][~np.isnan(report.messages["time"])]
    days = (
        [datetime.fromtimestamp(time, UTC).date().isoformat() for time in (times.min(), times.max())]
        if len(times)
        else []
    )
    period = f", {' to '.join(days)}" if days else ""
    return f"{len(report.ids):,} conversations{period}. Made on {report.made[:10]} with turnwise."


def _table(report: Report, requests: Iterable[Mapping[str, Any]], rest: Iterable[Mapping[str, Any]]) -> str:
    numbers = list(report.numbers)[:_NUMBERS]
    header = ["request", "conversations", "share", "change (95 %)", *numbers]
    body = [[row["group_name"], *_cells(row, numbers)] for row in requests]
    body += [["none of these", *_cells(row, numbers)] for row in rest]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    lines = "".join(
        f"<tr><td>{escape(first)}</td>{''.join(f'<td class=number>{escape(cell)}</td>' for cell in cells)}</tr>"
        for first, *cells in body
    )
    note = (
        "Shares are of conversations. The change is that of the share from the earlier half of the time to the later, "
        "in points, with its interval; ▲ and ▼ mark what is more than chance. Other numbers are means ± standard "
        "deviations."
    )
    return f'<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table><p class="muted">{note}</p>'


def _cells(row: Mapping[str, Any], numbers: Iterable[str]) -> list[str]:
    low, high = row["growth_low"], row["growth_high"]
    sign = "" if low is None or low <= 0 <= high else "▲ " if low > 0 else "▼ "
    change = "–" if low is None else f"{sign}{100 * row['growth']:+.0f} ({100 * low:.0f} to {100 * high:.0f})"
    return [
        f"{row['conversations']:,}",
        f"{row['share']:.0%}",
        change.replace("-", "−"),
        *(_spread(row[f"{name}_mean"], row[f"{name}_sd"]) for name in numbers),
    ]


def _spread(mean: float | None, sd: float | None) -> str:
    if mean is None:
        return "–"
    return f"{mean:.3g}" + ("" if sd is None else f" ± {sd:.2g}")


def _examples(row: Mapping[str, Any]) -> str:
    said = [row["example"], row["example_2"]]
    quotes = "".join(f"<blockquote>{_short(text)}</blockquote>" for text in said if text)
    answer = (
        f'<p class="muted">A typical next message: {_short(row["next_message"])}</p>' if row["next_message"] else ""
    )
    return f"<article><h3>{escape(row['group_name'])}</h3>{quotes}{answer}</article>"


def _short(text: str) -> str:
    words = " ".join(text.split())
    return escape(words if len(words) <= _LONGEST else f"{words[:_LONGEST]} …")
