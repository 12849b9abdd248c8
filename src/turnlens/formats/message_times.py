"""The times and numbers by which messages are ordered."""

from __future__ import annotations

import math
import re
import warnings
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache
from typing import Any, NamedTuple

from turnlens.formats.bad_input import BadRow
from turnlens.formats.column_names import is_place, plain_name, tells_which_day

_TWO_NUMBERS = re.compile(r"\s*(\d{1,2})([/.-])(\d{1,2})\2(?:\d{4}|\d{2})\b")
# A weekday in any language, before a date in digits or a day and its month, and the word behind a German time of day.
_BESIDE = re.compile(
    r"^[^\s\d]+[.,]\s+(?=\d{1,4}[./-]\d{1,2}[./-]\d)|^[^\s\d]+\s+(?=\d{1,2}\.?\s+(?:de\s+)?[^\W\d]{3,})|\s+Uhr$",
    re.IGNORECASE,
)
_EAST = re.compile(r"(\d{4})[年년]\s*(\d{1,2})[月월]\s*(\d{1,2})[日일]")
_COMPACT = re.compile(r"\s*((?:19[7-9]\d|20\d\d|2100)[01]\d[0-3]\d)([0-2]\d[0-5]\d[0-5]\d)?\s*", re.ASCII)
_MONTH = re.compile(r"\s*0[1-9]\.(?:19|20)\d\d\s*")  # no number begins with such a 0
_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{2}(?:[.,]\d+)?)")
# Hours from UTC of the abbreviations that exports use; others are an error, since one name may stand for several zones.
_ZONES = {"UTC": 0.0, "GMT": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8}
_ZONES |= {"PDT": -7, "CET": 1, "CEST": 2, "BST": 1, "EET": 2, "EEST": 3, "MSK": 3, "IST": 5.5, "JST": 9, "KST": 9}
# Numbers that can only be times: seconds since 1970 of the years 1979 to 2286, also in thousandths and so on.
_EPOCH = (3e8, 1e10)
_SERIAL = (36526, 73051)  # days of Excel from 2000 to 2099, counted from _DAY_0
_DAY_0 = datetime(1899, 12, 30)
# The names of months in the languages that exports are written in most; the English ones dateutil knows.
_MONTHS = """
januar jänner janvier enero ene gennaio gen janeiro januari stycznia января
februar février févr fév febrero febbraio fevereiro fev februari lutego февраля
märz mrz mär mars marzo março maart mrt marca марта
april avril avr abril abr aprile kwietnia апреля
mai mayo maggio mag maio mei maj maja мая
juni juin junio giugno giu junho czerwca июня
juli juillet juil julio luglio lug julho lipca июля
august août aout agosto ago augustus augusti sierpnia августа
september septembre septiembre settembre set setembro września сентября
oktober okt octobre octubre ottobre ott outubro out października октября
november novembre noviembre novembro listopada ноября
dezember dez décembre déc diciembre dic dicembre dezembro december desember grudnia декабря
""".strip().split("\n")


class Moment(NamedTuple):
    """The time or number by which a message is ordered.

    Args:
        order: The number.
        is_time: Whether it was written as a time.
        labels: ``time`` in ISO 8601, or ``start`` in seconds where there is no day; empty for a mere place in the
            conversation.
    """

    order: float
    is_time: bool
    labels: dict[str, Any]


@dataclass
class DateOrder:
    """Return whether dates such as 02/03/2024 have the day first, judged by all dates of a file."""

    day_first: bool | None = None
    example: str | None = None

    def see(self, value: Any) -> None:
        """Take a date into account.

        Raises:
            BadRow: The date can be read only one way, and an earlier date only the other way.
        """
        match = _TWO_NUMBERS.match(_BESIDE.sub("", value)) if isinstance(value, str) else None
        if match is None:
            return
        first, second = int(match[1]), int(match[3])
        if first > 12 or second > 12:
            if self.day_first not in (None, first > 12):
                raise BadRow(f"found {value!r}, but earlier dates have day and month the other way round")
            self.day_first = first > 12
        else:
            self.example = self.example or value

    @property
    def is_unclear(self) -> bool:
        """Return whether there are dates that could be read either way, and nothing shows which is meant."""
        return self.example is not None and self.day_first is None and "." not in self.example


def moment(value: Any, column: str, number: int, dates: DateOrder) -> Moment:
    """Turn a number or a time into a `Moment`, by which messages are ordered.

    Args:
        value: A number, an ISO 8601 time, a time of day or another usual notation, also of digits alone, with or
            without a zone (then that in the column's name, as in ``Created (UTC)``, or UTC).
        column: The column's name.
        number: The row's number, for errors.
        dates: The order of day and month in the file's dates. Where they show nothing, 02.03.2024 is of March, as
            everywhere that dates have dots, and 02/03/2024 of February.

    Raises:
        BadRow: The value is neither a number nor a time.
    """
    if isinstance(value, date):  # as is a datetime
        value = value.isoformat()
    if not is_place(column):
        value = _with_separators(value)
    try:
        as_number = float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    else:
        if math.isfinite(as_number) and not _MONTH.fullmatch(str(value)):
            return Moment(as_number, False, _when(as_number, column))
        raise _not_a_moment(value, column, number)
    if not isinstance(value, str):
        raise _not_a_moment(value, column, number)
    value = _EAST.sub(r"\1-\2-\3 ", _BESIDE.sub("", value.strip()))
    if clock := _CLOCK.fullmatch(value):
        hours, minutes, seconds = int(clock[1] or 0), int(clock[2]), float(clock[3].replace(",", "."))
        # "10:30" is a time of day, "0:10:30" and "10:30.5" are offsets; in order they are the same either way
        start = (hours * 60 + minutes) * 60 + seconds
        return Moment(start, True, {"start": start})
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        time = _other_notation(value, column, number, dates)
    try:
        time = time if time.tzinfo else time.replace(tzinfo=_zone_of(column))
        order = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).timestamp()
    except (ValueError, OverflowError):  # beyond the calendar
        raise _not_a_moment(value, column, number) from None
    return Moment(order, True, {"time": time.isoformat()})


def _with_separators(value: Any) -> Any:
    """A time of digits alone, such as 20240531100000, in ISO 8601; any other value as it is."""
    digits = _COMPACT.fullmatch(str(value)) if isinstance(value, int | str) else None
    try:
        return datetime.fromisoformat("T".join(filter(None, digits.groups()))).isoformat() if digits else value
    except ValueError:  # there is no such day
        return value


def _when(number: float, column: str) -> dict[str, Any]:
    """The labels of a number: a time since 1970, a day of Excel, or the seconds of a column such as ``start_time``."""
    if is_place(column):
        return {}
    for unit in (1, 1e3, 1e6, 1e9):
        if _EPOCH[0] <= number / unit < _EPOCH[1]:
            return {"time": datetime.fromtimestamp(number / unit, UTC).isoformat()}
    if _SERIAL[0] <= number < _SERIAL[1] and tells_which_day(column):
        day_0 = _DAY_0.replace(tzinfo=_zone_of(column))
        return {"time": (day_0 + timedelta(seconds=round(number * 86_400))).isoformat()}
    return {"start": number} if plain_name(column).startswith("start") else {}


def _zone_of(column: str) -> timezone | None:
    """The zone in brackets in a column's name."""
    named = next((name for name in re.findall(r"[(\[]\s*([A-Za-z]+)\s*[)\]]", column) if name.upper() in _ZONES), None)
    return timezone(timedelta(hours=_ZONES[named.upper()])) if named is not None else None


def spoken_time(value: Any) -> dict[str, Any]:
    """The labels for a time that stands beside a text: ``time`` or ``start``, or the text itself as ``time``.

    >>> spoken_time("00:01:05"), spoken_time("2024-05-31 10:00"), spoken_time(None)
    ({'start': 65.0}, {'time': '2024-05-31T10:00:00'}, {})
    """
    time = lone_moment(value)
    labels = time.labels if time is not None else {}
    return {} if value is None or value == "" else labels or {"time": value}


def time_and_order(value: Any) -> tuple[str | None, float]:
    """A time in ISO 8601, and the number that orders it; None and 0 for what is no time."""
    time = lone_moment(value) if value else None
    if time is None or "time" not in time.labels:
        return None, 0.0
    return time.labels["time"], moment(time.labels["time"], "", 0, DateOrder()).order


def lone_moment(value: Any, column: str = "", dates: DateOrder | None = None) -> Moment | None:
    """The `Moment` of a value; None for what is neither a number nor a time."""
    with suppress(BadRow):
        return moment(value, column, 0, dates or DateOrder())
    return None


def _other_notation(value: str, column: str, number: int, dates: DateOrder) -> datetime:
    from dateutil import parser

    day_first = dates.day_first if dates.day_first is not None else "." in value.split()[0] if value.split() else False
    zones = {name: int(hours * 3600) for name, hours in _ZONES.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", parser.UnknownTimezoneWarning)
            # what a text does not say is taken from the default: two of them show whether it says year, month and day
            first, second = (
                parser.parse(value, _many_languages(), dayfirst=day_first, tzinfos=zones, default=default)
                for default in (datetime(2001, 1, 1), datetime(2004, 2, 2))
            )
    except parser.UnknownTimezoneWarning:
        problem = f"found {value!r} in {column!r}, whose time zone is unknown; write it as +01:00"
        raise BadRow(problem, number) from None
    except (ValueError, OverflowError):
        raise _not_a_moment(value, column, number) from None
    if first != second:
        raise _not_a_moment(value, column, number)
    return first


@cache
def _many_languages() -> Any:
    """Months for dateutil in English and the languages of `_MONTHS`; small words of dates are skipped."""
    from dateutil.parser import parserinfo

    months = [(*english, *names.split()) for english, names in zip(parserinfo.MONTHS, _MONTHS, strict=True)]
    small = ["de", "del", "di", "le", "el", "il", "den", "um", "à", "às", "alle", "kl", "г"]
    return type("ManyLanguages", (parserinfo,), {"MONTHS": months, "JUMP": [*parserinfo.JUMP, *small]})()


def _not_a_moment(value: Any, column: str, number: int) -> BadRow:
    remedy = f"write it as 2024-05-31 10:00, or leave time= out (--columns ignore={column.replace('+', ',')})"
    return BadRow(f"found {str(value)[:60]!r} in {column!r}; expected a number or a time: {remedy}", number)


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
