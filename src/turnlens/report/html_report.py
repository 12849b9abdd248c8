"""The report as one HTML file that can be mailed and printed: findings, requests, and examples if they may leave."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import compress
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from turnlens._utils.files import atomic_path
from turnlens._utils.text_values import printable
from turnlens._utils.vectors import BoolArray
from turnlens.data.personal.redaction import NOT_FOUND
from turnlens.groups.group_settings import MOST
from turnlens.report.corpus import DURATION
from turnlens.report.findings import (
    LAST,
    Finding,
    findings,
    growth_mark,
    language_notice,
    mixed_groups,
    number_mark,
    unit_of,
    widening,
)
from turnlens.report.measures import LEAST_SHOWN, STATISTICS, Typical, members, number_kind, plain_number, typical
from turnlens.report.report import Report
from turnlens.report.summary import MOST_VALUES, summary_table
from turnlens.report.trends import Z_95, Period, usual_period, wilson
from turnlens.report.unhappiness import UNHAPPY

_REQUESTS, _WITH_EXAMPLES, _NUMBERS = 20, 10, 4  # that fit on three pages
_KEYWORDS, _EXAMPLES, _LONGEST = 3, 3, 160  # of each request, and characters of an example
_LONGEST_VALUE = 60  # of a label
_MARKS = {1: "▲ ", -1: "▼ ", 0: ""}
_STYLE = """
@page { size: A4; margin: 15mm }
body { font: 10pt/1.4 system-ui, sans-serif; color: #1a2029; background: #fff; margin: 2rem auto }
main { max-width: 60rem; margin: auto; padding: 0 1rem }
h1 { font-size: 1.6em; margin: 0 } h2 { font-size: 1.2em; margin: 1.4em 0 .4em; break-after: avoid }
h3 { font-size: 1em; margin: .9em 0 .2em } p { margin: .2em 0 } .muted { color: #566070 }
article, tr { break-inside: avoid } table { border-collapse: collapse; width: 100% } th { text-align: left }
td .muted { display: block; font-size: .9em } a { color: #0b62a8 }
.findings { font-size: 1.15em; padding-left: 1.1em; margin: .8em 0 }
.notice { border-left: 4px solid #b3420a; padding-left: .7em; margin: .8em 0 }
td, th { padding: .25em .8em .25em 0; border-bottom: 1px solid #d8dde4; vertical-align: top }
.number { text-align: right; font-variant-numeric: tabular-nums } td.number { white-space: nowrap }
blockquote { margin: .2em 0; padding-left: .7em; border-left: 3px solid #d8dde4; overflow-wrap: anywhere }
@media screen and (max-width: 40rem) {
  thead { display: none } table, tbody { display: block }
  tr { display: flex; flex-wrap: wrap; gap: 0 1.2em; padding: .5em 0; border-bottom: 1px solid #d8dde4 }
  td { border: 0; padding: 0 } td:first-child { flex-basis: 100%; font-weight: 600 } td .muted { font-weight: 400 }
  td.number { text-align: left } td[data-label]::before { content: attr(data-label) ": "; color: #566070 }
}
@media print { main { max-width: none; padding: 0 } body { margin: 0; font-size: 8.5pt; line-height: 1.25 } }
"""

_ABOUT_EXAMPLES = f'<p class="muted">Texts as they were read, which may hold {NOT_FOUND}.</p>'
_ABOUT_NAMES = '<p class="muted">Each request is named by a typical sentence, which stands for all like it.</p>'


def write_html_file(report: Report, path: Path, texts: bool = True, period: Period | None = None) -> None:
    """Write the report's requests to an HTML file without scripts, which nothing else belongs to.

    Args:
        report: The report.
        path: The file.
        texts: Show examples. Without them, groups that no user named are named by their keywords.
        period: The times that growth compares, see `summary_table`.
    """
    groups = [group for group in report.groups["message"] if group.level == 1]
    renamed = {group.id for group in groups if group.renamed}
    mixed = mixed_groups(report)
    period = period or usual_period(report.conversations["time"])
    rows = summary_table(report, groups, period).to_pylist()
    requests = [row for row in rows if row["kind"] in ("request", "message")]
    for row in requests:
        if not texts and row["group"] not in renamed:
            row["group_name"] = " · ".join(_keywords(row)) or f"group {row['group']}"
        if row["group"] in mixed and row["group"] not in renamed:
            row["group_name"] = f"mixed: {row['group_name']}"
    requests.sort(key=lambda row: row["group"] in mixed)  # they come last
    rest = [row for row in rows if row["kind"] == "no request"]
    notice = language_notice(report)
    found = [] if notice else findings(report, requests, period)
    about = {piece for sentence in found for piece in sentence}
    examples = [row for rank, row in enumerate(requests) if rank < _WITH_EXAMPLES or row["group"] in about]
    examples = examples if texts else []
    heading = f"<h2>Examples{f' of {len(examples)} requests' if len(examples) < len(requests) else ''}</h2>"
    linked = {row["group"] for row in examples}
    names = {row["group"]: row["group_name"] for row in requests}
    title = _escape(report.title)
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{_STYLE}</style></head><body><main><h1>{title}</h1>",
        f'<p class="muted">{_about(report)}</p>',
        f'<p class="notice">{_escape(notice)}</p>' if notice else "",
        _ABOUT_NAMES if texts and requests else "",
        _sentences(found, names, linked),
        "<h2>What do people ask?</h2>",
        _table(report, requests, rest, period, marked=notice is None),
        *([heading, _ABOUT_EXAMPLES, *(_examples(report, row) for row in examples)] if examples else []),
        "</main></body></html>\n",
    ]
    with atomic_path(path) as temporary:
        temporary.write_text("".join(parts), encoding="utf-8", errors="replace")


def _about(report: Report) -> str:
    period, times = "", report.conversations["time"][~np.isnan(report.conversations["time"])]
    if len(times):
        first, last = (datetime.fromtimestamp(time, UTC).date() for time in (times.min(), times.max()))
        period = f", {first} to {last}"
    return f"{len(report.ids):,} conversations{period}. Made on {report.made[:10]} with turnlens."


def _sentences(found: Sequence[Finding], names: Mapping[int, str], linked: Collection[int]) -> str:
    """The findings as a list, with names of groups that lead to their examples."""

    def piece(part: str | int) -> str:
        if isinstance(part, str):
            return _escape(part)
        name = f"<b>{_escape(names.get(part, f'group {part}'))}</b>"
        return f'“<a href="#group-{part}">{name}</a>”' if part in linked else f"“{name}”"

    lines = "".join(f"<li>{''.join(map(piece, sentence))}</li>" for sentence in found)
    return f'<ul class="findings">{lines}</ul>' if lines else ""


def _table(
    report: Report,
    requests: Sequence[Mapping[str, Any]],
    rest: Iterable[Mapping[str, Any]],
    period: Period,
    marked: bool,
) -> str:
    wider = widening(len(requests)) if marked else None
    timed = any(row["recent"] is not None for row in (*requests, *rest))
    names = sorted(report.measures, key=UNHAPPY.__ne__)
    columns = [_Number(report, name, wider) for name in names[:_NUMBERS]]
    header = ["conversations", "share", *["change, points"] * timed, *(column.title for column in columns)]
    inside = {row["group"]: members(report, row["group"]) for row in requests}

    def is_marked(row: Mapping[str, Any]) -> bool:
        return bool(growth_mark(row, wider)) or any(column.of(inside[row["group"]])[1] for column in columns)

    are_shown = [rank < _REQUESTS or is_marked(row) for rank, row in enumerate(requests)]
    smaller = [row for row, is_shown in zip(requests, are_shown) if not is_shown]
    shown = [*compress(requests, are_shown), *rest]
    none = ~np.any([*inside.values(), np.zeros(len(report.ids), bool)], axis=0)
    head = "".join(f'<th scope="col" class="number">{_escape(name)}</th>' for name in header)
    lines = ""
    places = [_where(report, row, Z_95 * (wider or 1)) for row in shown]
    for row, where in zip(shown, places):
        name = row["group_name"] or "none of these"
        cells = [f"{row['conversations']:,}", f"{row['share']:.0%}", *[_change(row, wider)] * timed]
        cells += [column.cell(inside.get(row["group"], none)) for column in columns]
        beneath = [" · ".join(word for word in _keywords(row) if word not in name), where]
        muted = "".join(f'<span class="muted">{_escape(line)}</span>' for line in beneath if line)
        lines += f"<tr><td>{_escape(name)}{muted}</td>"
        for label, cell in zip(header, cells):
            lines += f'<td class="number" data-label="{_escape(label)}">{cell}</td>'
        lines += "</tr>"
    change = f"the change is that of the {LAST[period]} from all before" if timed else "no times are known"
    note = (
        f"Shares are of conversations; one with several requests counts in the row of each; {change}. "
        + "▲ and ▼ mark what is more than chance among so many requests. " * marked
        + "Beneath a request stand its keywords, and what most of its conversations have in common: surely more than "
        "of all." * any(places)
    ).strip()
    left_out = [f"{name} ({len(values)} values)" for name, values in report.long_categories(MOST_VALUES).items()]
    if mixed_groups(report) & {row["group"] for row in shown}:
        note += " Mixed are those whose messages are mostly more like those of others."
    if left_out:
        note += f" Labels with more than {MOST_VALUES} values are not compared: {', '.join(map(_escape, left_out))}."
    if UNHAPPY in report.measures:
        note += (
            " Unhappy, guessed from what people wrote, is a share of the conversations in which somebody wrote again "
            "after an answer."
        )
    if names[_NUMBERS:]:
        note += f" Not shown are {', '.join(map(_escape, names[_NUMBERS:]))}."
    if smaller:
        most = smaller[0]["conversations"]
        note += f" Not shown are {len(smaller):,} smaller requests, each in at most {most:,} conversations."
    return (
        f'<table><thead><tr><th scope="col">request</th>{head}</tr></thead><tbody>{lines}</tbody></table>'
        f'<p class="muted">{note}</p>'
    )


class _Number:
    """A number of the report as a column, with marks by intervals so much wider than 95 %, or without any."""

    def __init__(self, report: Report, name: str, wider: float | None) -> None:
        self._values, self._wider = report.measures[name], wider
        self._kind = number_kind(name, self._values)
        self._of_all, self._deviation = typical(self._values, self._kind).value, float(np.nanstd(self._values))
        self._length: float
        unit, self._length = unit_of(self._of_all) if name == DURATION else ("", 1)
        self.title = f"{STATISTICS[self._kind]} {f'duration, {unit}' if unit else name}".strip()

    def of(self, inside: BoolArray) -> tuple[Typical, int]:
        """Return what is typical of some conversations (m,), and 1 or -1 where it is surely unlike all, else 0."""
        own = typical(self._values[inside], self._kind, self._wider or 1, self._deviation)
        return own, number_mark(own, self._of_all) if self._wider else 0

    def cell(self, inside: BoolArray) -> str:
        """The typical value of some conversations (m,), with its mark."""
        own, mark = self.of(inside)
        if own.known < LEAST_SHOWN:
            return "–"
        sign = _MARKS[mark]
        written = {"share": f"{own.value:.0%}", "amount": plain_number(own.value / self._length)}
        return sign + written.get(self._kind, f"{own.value:.1f}")


def _where(report: Report, row: Mapping[str, Any], z: float) -> str:
    """The value of each category, such as the team, that most of the conversations have, and surely more than of all.

    ``z`` is the number of deviations from which on something is sure.
    """
    parts = []
    for name, label in report.categories(MOST_VALUES).items():
        count, value = max((row[f"{name}: {value}"], value) for value in label.values)
        of_all = np.count_nonzero(label.codes == label.values.index(value)) / len(report.ids)
        conversations = max(1, row["conversations"])
        share, low, _ = wilson(count / conversations, conversations, z)
        if share > MOST and low > of_all:
            parts.append(f"{name}: {shorten(value, _LONGEST_VALUE, placeholder=' …')} {share:.0%}")
    return ", ".join(parts)


def _keywords(row: Mapping[str, Any]) -> list[str]:
    return (row["keywords"] or "").split(", ")[:_KEYWORDS]


def _change(row: Mapping[str, Any], wider: float | None) -> str:
    if row["growth_low"] is not None:
        return f"{_MARKS[growth_mark(row, wider)]}{_points(row['growth'])}"
    return "too few" if row["recent"] is not None else "–"


def _points(share: float) -> str:
    """Percentage points, of which none is neither more nor less."""
    points = round(100 * share)
    return f"{points:{'+' if points else ''}d}".replace("-", "−")


def _examples(report: Report, row: Mapping[str, Any]) -> str:
    central = next(group.central for group in report.groups["message"] if group.id == row["group"])
    quotes = "".join(f"<blockquote>{_short(report.text_of(place))}</blockquote>" for place in central[:_EXAMPLES])
    following = row["next_message"]
    answer = f'<p class="muted">A typical next message: {_short(following)}</p>' if following else ""
    return f'<article id="group-{row["group"]}"><h3>{_escape(row["group_name"])}</h3>{quotes}{answer}</article>'


def _escape(text: str) -> str:
    """Return a text for the page, with nothing in it that a browser would obey."""
    return html.escape(printable(text))


def _short(text: str) -> str:
    words = " ".join(text.split())
    return _escape(words if len(words) <= _LONGEST else f"{words[:_LONGEST]} …")
