"""Times as labels: one notation, ISO 8601, whatever the source writes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


def iso_time(value: Any) -> str | None:
    """Seconds since 1970 (number, or text as Slack writes it) as ISO 8601 in UTC; other texts as they are.

    >>> iso_time(1700000000)
    '2023-11-14T22:13:20+00:00'
    >>> iso_time("2023-11-14T23:13:20+01:00")
    '2023-11-14T23:13:20+01:00'
    """
    if value is None or value == "":
        return None
    try:
        return datetime.fromtimestamp(float(value), UTC).isoformat()
    except (TypeError, ValueError, OverflowError, OSError):
        return str(value)
