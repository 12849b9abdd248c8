"""The report as one HTML file that can be mailed and printed: the table of requests, and examples if they may leave."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from turnlens._utils.files import atomic_path
from turnlens.report.report import Report
from turnlens.report.summary import MOST_VALUES, Z_95, Period, summary_table, wilson

_REQUESTS, _WITH_EXAMPLES, _NUMBERS = 20, 10, 4  # that fit on three pages
_EXAMPLES, _LONGEST = 3, 160  # of each request, and characters of one
_FEW = 5  # values are too few for a mean
_CHANGES: dict[Period, str] = {
    "half": "from the earlier half of the time to the later",
    "week": "from the week before to the last seven days",
    "month": "from the 30 days before to the last 30",
}
_STYLE = """
@page { size: A4; margin: 15mm }
body { font: 10pt/1.4 system-ui, sans-serif; color: #1a2029; background: #fff; max-width: 60rem; margin: 2rem auto }
h1 { font-size: 1.6em; margin: 0 } h2 { font-size: 1.2em; margin: 1.4em 0 .4em; break-after: avoid }
h3 { font-size: 1em; margin: .9em 0 .2em } p { margin: .2em 0 } .muted { color: #566070 }
article, tr { break-inside: avoid } table { border-collapse: collapse; width: 100% } th { text-align: left }
.wide { overflow-x: auto } td .muted { display: block; font-size: .9em }
td, th { padding: .25em .8em .25em 0; border-bottom: 1px solid #d8dde4; vertical-align: top }
.number { text-align: right; font-variant-numeric: tabular-nums } td.number { white-space: nowrap }
blockquote { margin: .2em 0; padding-left: .7em; border-left: 3px solid #d8dde4; overflow-wrap: anywhere }
@media print { body { margin: 0; padding: 0; max-width: none; font-size: 8.5pt; line-height: 1.25 } }
"""


def write_html_file(report: Report, path: Path, texts: bool = True, period: Period = "half") -> None:
    """Write the report's requests to an HTML file without scripts, which nothing else belongs to.

    Args:
        report: The report.
        path: The file.
        texts: Show examples. Without them, groups that no user named are named by their keywords.
        period: The times that growth compares, see `summary_table`.
    """
    groups = [group for group in report.groups["message"] if group.level == 1]
    renamed = {group.id for group in groups if group.renamed}
    rows = summary_table(report, groups, period).to_pylist()
    requests = [row for row in rows if row["kind"] in ("request", "message")]
    for row in requests:
        if not texts and row["group"] not in renamed:
            row["group_name"] = row["keywords"].replace(", ", " · ") or f"group {row['group']}"
    rest = [row for row in rows if row["kind"] == "no request"]
    title = escape(report.title)
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{_STYLE}</style></head><body><main><h1>{title}</h1>",
        f'<p class="muted">{_about(report)}</p><h2>What do people ask?</h2>',
        _table(report, requests, rest, period),
        *(["<h2>Examples</h2>", *(_examples(report, row) for row in requests[:_WITH_EXAMPLES])] if texts else []),
        "</main></body></html>\n",
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
    return f"{len(report.ids):,} conversations{period}. Made on {report.made[:10]} with turnlens."


def _table(
    report: Report, requests: Sequence[Mapping[str, Any]], rest: Iterable[Mapping[str, Any]], period: Period
) -> str:
    numbers = list(report.numbers)[:_NUMBERS]
    header = ["conversations", "share", "change (95 %)", *numbers]
    means = {name: float(np.nanmean(report.numbers[name])) for name in numbers}
    shares = {name for name in numbers if np.isin(np.nan_to_num(report.numbers[name]), (0, 1)).all()}
    smaller = [row for row in requests[_REQUESTS:] if not _mark_of_change(row)]
    shown = [*requests[:_REQUESTS], *(row for row in requests[_REQUESTS:] if _mark_of_change(row))]
    body = [
        [(row["group_name"] or "none of these", _where(report, row)), *_cells(row, means, shares)]
        for row in (*shown, *rest)
    ]
    head = "".join(f'<th scope="col" class="number">{escape(name)}</th>' for name in header)
    lines = "".join(
        f"<tr><td>{_two_lines(first)}</td>{''.join(f'<td class=number>{_two_lines(cell)}</td>' for cell in cells)}</tr>"
        for first, *cells in body
    )
    note = (
        f"Shares are of conversations. The change is that of the share {_CHANGES[period]}, in points, with its "
        "interval. Other numbers are means ± standard deviations, or shares. ▲ and ▼ mark a change, or a mean unlike "
        "that of all, that is more than chance. Beneath a request stands what more than half of its conversations have "
        "in common."
    )
    if smaller:
        most = smaller[0]["conversations"]
        note += f" Not shown are {len(smaller):,} smaller requests, each in at most {most:,} conversations."
    return (
        '<div class="wide" tabindex="0" role="region" aria-label="Requests"><table><thead><tr>'
        f'<th scope="col">request</th>{head}</tr></thead><tbody>{lines}</tbody>'
        f'</table></div><p class="muted">{note}</p>'
    )


def _where(report: Report, row: Mapping[str, Any]) -> str:
    """The value of each category, such as the team, that more than half of the conversations have."""
    parts = []
    for name, label in report.categories(MOST_VALUES).items():
        count, value = max((row[f"{name}: {value}"], value) for value in label.values)
        if 2 * count > row["conversations"]:
            parts.append(f"{name}: {value} {count / row['conversations']:.0%}")
    return ", ".join(parts)


def _two_lines(cell: tuple[str, str]) -> str:
    return f'{escape(cell[0])}<span class="muted">{escape(cell[1])}</span>'


def _cells(row: Mapping[str, Any], means: Mapping[str, float], shares: Collection[str]) -> list[tuple[str, str]]:
    low, high = row["growth_low"], row["growth_high"]
    points = _mark_of_change(row) + _points(row["growth"], "+") if low is not None else "–"
    change = (points, "" if low is None else f"{_points(low)} to {_points(high)}")
    return [
        (f"{row['conversations']:,}", ""),
        (f"{row['share']:.0%}", ""),
        change,
        *(
            _mean(row[f"{name}_mean"], row[f"{name}_sd"], row[f"{name}_known"], mean, name in shares)
            for name, mean in means.items()
        ),
    ]


def _mark_of_change(row: Mapping[str, Any]) -> str:
    return "" if row["growth_low"] is None else _mark(row["growth_low"], row["growth_high"], 0)


def _mark(low: float, high: float, usual: float) -> str:
    """Return a mark for an interval that is wholly above or below the usual value."""
    return "▲ " if low > usual else "▼ " if high < usual else ""


def _points(share: float, sign: str = "") -> str:
    """Percentage points, of which none is neither more nor less."""
    points = round(100 * share)
    return f"{points:{sign if points else ''}d}".replace("-", "−")


def _mean(mean: float | None, sd: float | None, known: int, of_all: float, is_share: bool) -> tuple[str, str]:
    if mean is None:
        return "–", ""
    half = Z_95 * (sd or np.inf) / sqrt(known)
    _, low, high = wilson(mean, known) if is_share else (mean, mean - half, mean + half)
    sign = "" if known < _FEW else _mark(low, high, of_all)
    if is_share:
        return f"{sign}{mean:.0%}", ""
    return f"{sign}{mean:.3g}", "" if sd is None else f"± {sd:.2g}"


def _examples(report: Report, row: Mapping[str, Any]) -> str:
    central = next(group.central for group in report.groups["message"] if group.id == row["group"])
    quotes = "".join(f"<blockquote>{_short(report.text_of(place))}</blockquote>" for place in central[:_EXAMPLES])
    answer = (
        f'<p class="muted">A typical next message: {_short(row["next_message"])}</p>' if row["next_message"] else ""
    )
    return f"<article><h3>{escape(row['group_name'])}</h3>{quotes}{answer}</article>"


def _short(text: str) -> str:
    words = " ".join(text.split())
    return escape(words if len(words) <= _LONGEST else f"{words[:_LONGEST]} …")
