"""The sentences that a report begins with: what grew, what is new, where people are unhappy, what takes long.

A sentence is about what is large and beyond chance. So is a mark in a table (▲, ▼), which need not be large: of both,
the interval is as wide as the number of requests compared asks for (Bonferroni). With one of 95 % for each of twenty
requests, two reports of five would mark growth that is none. Where there is nothing of the kind, there is no sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from turnlens._utils.vectors import BoolArray, FloatArray
from turnlens.data.languages import advice, languages_of
from turnlens.encoders.folders import DEFAULT_ENCODER
from turnlens.report.corpus import DURATION
from turnlens.report.measures import NumberKind, Typical, members, number_kind, plain_number, typical
from turnlens.report.report import Report
from turnlens.report.trends import FEW, Z_95, Period, usual_period
from turnlens.report.unhappiness import UNHAPPY

Finding = tuple[str | int, ...]  # a sentence in pieces; a number is the id of a group, for its name
_MOST = 5
LIKE = "Conversations like "
_POINTS = 0.02  # of growth, as a share of all conversations
_DEVIATIONS = 0.25  # by which a mean or a share is unlike that of all
_TIMES = 1.5  # as long as all
_NEW = 3  # named
_UNITS = (("days", 1440), ("hours", 60), ("min", 1), ("s", 1 / 60))  # of minutes
_DURATION = re.compile(
    r"(^|[^a-z])(wait|minutes|hours|seconds|duration|latency|(handling|resolution|response) time)", re.I
)
LAST: dict[Period, str] = {"day": "last day", "week": "last seven days", "month": "last 30 days"}


def language_notice(report: Report) -> str | None:
    """Return a warning if most conversations are in a language that the report's encoder does not know."""
    if report.encoder != DEFAULT_ENCODER:
        return None
    firsts, turns = report.conversations["first"].tolist(), report.conversations["turns"].tolist()
    conversations = (
        {"messages": [{"content": report.text_of(row)} for row in range(first, first + count)]}
        for first, count in zip(firsts, turns)
    )
    return advice(languages_of(conversations), "turnlens explore your-chats.jsonl --store another.store --model")


def findings(report: Report, requests: Sequence[Mapping[str, Any]], period: Period | None = None) -> list[Finding]:
    """Return up to five sentences about requests.

    Args:
        report: The report.
        requests: The rows of `summary_table` that are requests.
        period: The times that their growth compares.
    """
    mixed = mixed_groups(report)
    many = [row for row in requests if row["conversations"] >= FEW and row["group"] not in mixed]
    if not many:
        return []
    period = period or usual_period(report.conversations["time"])
    wider = widening(len(requests))
    inside = {row["group"]: members(report, row["group"]) for row in many}
    numbers = [found for name, values in report.measures.items() if (found := _unlike(inside, name, values, wider))]
    first = [sentence for rank, sentence in sorted(numbers, key=lambda each: each[0])]
    sentences = [_growth(many, 1, wider, period), _new(report, many), *first, _growth(many, -1, wider, period)]
    return [sentence for sentence in sentences if sentence][:_MOST]


def mixed_groups(report: Report) -> set[int]:
    """Return the groups of messages that have no subject of their own: no sentence is about them."""
    return {group.id for group in report.groups["message"] if group.mixed}


def widening(requests: int) -> float:
    """Return the factor by which intervals of 95 % are widened where so many requests are compared."""
    return NormalDist().inv_cdf(1 - 0.025 / max(1, requests)) / Z_95


def number_mark(own: Typical, usual: float) -> int:
    """Return 1 or -1 for a number whose interval is above or below the usual one, else 0."""
    return 0 if own.known < FEW else int(own.low > usual) - int(own.high < usual)


def growth_mark(row: Mapping[str, Any], wider: float | None) -> int:
    """Return 1 or -1 for a request that surely grew or shrank, else 0; `row` is one of `summary_table`."""
    if wider is None or row["growth_low"] is None:
        return 0
    growth, low, high = row["growth"], row["growth_low"], row["growth_high"]
    return int(growth + wider * (low - growth) > 0) - int(growth + wider * (high - growth) < 0)


def _growth(rows: Sequence[Mapping[str, Any]], sign: int, wider: float, period: Period) -> Finding | None:
    """The request whose share grew most, or for -1 the one whose share fell most."""
    known = [row for row in rows if row["growth_low"] is not None]
    if not known:
        return None
    row = max(known, key=lambda each: sign * each["growth"])
    if growth_mark(row, wider) != sign or sign * row["growth"] < _POINTS:
        return None
    points = round(abs(100 * row["growth"]))
    verb = "grew" if sign > 0 else "fell"
    told = f" {verb} most, by {points} points of all conversations in the {LAST[period]}."
    return (LIKE, row["group"], told)


def _new(report: Report, rows: Sequence[Mapping[str, Any]]) -> Finding | None:
    are_new = {group.id for group in report.groups["message"] if group.new}
    new = [row["group"] for row in rows if row["group"] in are_new]
    if not new:
        return None
    more = f" and {len(new) - _NEW} more" if len(new) > _NEW else ""
    named = tuple(piece for group in new[:_NEW] for piece in (", ", group))[1:]
    return ("New since last time: ", *named, f"{more}.")


def _unlike(inside: Mapping[int, BoolArray], name: str, values: FloatArray, wider: float) -> tuple[int, Finding] | None:
    """The request with the worst of a number, with the rank of its sentence; None if it is much like all others."""
    kind = number_kind(name, values)
    if kind == "amount" and not _DURATION.search(name):
        return None
    sign = -1 if kind == "rating" else 1
    of_all = typical(values, kind).value
    deviation = float(np.nanstd(values))
    of_groups = {group: typical(values[own], kind, wider, deviation) for group, own in inside.items()}
    far = {group: own for group, own in of_groups.items() if number_mark(own, of_all) == sign}
    if not far:
        return None
    group, worst = max(far.items(), key=lambda each: sign * each[1].value)
    if kind == "amount":
        is_large = worst.value >= _TIMES * of_all
    else:
        is_large = sign * (worst.value - of_all) >= _DEVIATIONS * deviation
    rank = 0 if name == UNHAPPY else ("rating", "amount", "count", "share").index(kind) + 1
    return (rank, _sentence(group, name, kind, worst.value, of_all)) if is_large else None


def _sentence(group: int, name: str, kind: NumberKind, value: float, of_all: float) -> Finding:
    if name == UNHAPPY:
        told = f": {value:.0%} of those who wrote again after an answer, {of_all:.0%} overall."
        return ("People are unhappiest in conversations like ", group, told)
    if kind == "share":
        return (LIKE, group, f" have the most “{name}”: {value:.0%}, {of_all:.0%} overall.")
    if kind == "rating":
        return (LIKE, group, f" have the lowest {name}: {value:.1f} on average, {of_all:.1f} overall.")
    if kind == "count":
        return (LIKE, group, f" have the most {name}: {value:.1f} on average, {of_all:.1f} overall.")
    longest = "take longest" if name == DURATION else f"have the longest {name}"
    written = _duration if name == DURATION else plain_number
    return (LIKE, group, f" {longest}: a median of {written(value)}, {written(of_all)} overall.")


def _duration(minutes: float) -> str:
    unit, length = unit_of(minutes)
    return f"{plain_number(minutes / length)} {unit}"


def unit_of(minutes: float) -> tuple[str, float]:
    """Return the unit in which people say how long something takes, as the page does, and its length in minutes.

    Examples:
        >>> unit_of(90), unit_of(150)
        (('min', 1), ('hours', 60))
    """
    return next((unit for unit in _UNITS if minutes >= 2 * unit[1]), _UNITS[-1])
