"""The parts of one long chat: conversations by day, or between long pauses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from turnlens.formats.bad_input import BadRow

DAY = "day"
_PAUSE = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*(m|min|h|d)")
_UNITS = {"m": 60, "min": 60, "h": 3600, "d": 86400}


def check_split_by(split_by: str | None) -> None:
    """Raise ``ValueError`` unless it is ``day``, or the length of a pause."""
    if split_by not in (None, DAY) and not _PAUSE.fullmatch(split_by or ""):
        raise ValueError(f"split_by is {split_by!r}; expected 'day', or a pause such as '30m', '6h' or '2d'")


def parts_of(row: dict[str, Any], split_by: str) -> Iterator[dict[str, Any]]:
    """The conversations that a checked one is split into, each with the day, or its number, in its id.

    Messages without a time stay with those before them.

    Raises:
        BadRow: No message has a time.
    """
    times = [_time(message) for message in row["messages"]]
    last = next(filter(None, times), None)
    if last is None:
        raise BadRow("no message has a time; leave out what splits conversations by time")
    parts: dict[str, list[dict[str, Any]]] = {}
    number = 1
    for message, time in zip(row["messages"], times):
        if split_by != DAY and time is not None and _in_utc(time) - _in_utc(last) >= _length(split_by):
            number += 1
        last = time or last
        name = last.date().isoformat() if split_by == DAY else str(number)
        parts.setdefault(name, []).append(message)
    for name, messages in parts.items():
        yield {**row, "id": f"{row['id']}/{name}", "messages": messages}


def _time(message: dict[str, Any]) -> datetime | None:
    """The time of a message; without a zone as the clock of its place showed it."""
    try:
        return datetime.fromisoformat(message.get("time") or "")
    except (TypeError, ValueError):
        return None


def _length(pause: str) -> timedelta:
    number, unit = _PAUSE.fullmatch(pause).groups()  # type: ignore[union-attr]
    return timedelta(seconds=float(number) * _UNITS[unit])


def _in_utc(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time
