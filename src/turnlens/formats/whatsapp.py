r"""WhatsApp chats, exported as text (``_chat.txt``, ``WhatsApp Chat with ….txt``).

``[31/12/2023, 21:05:59] Anna: Hi`` on iOS, ``31/12/2023, 21:05 - Anna: Hi`` on Android, in the notation of the phone's
region. A file is one conversation; further lines go on with the message before. Whether day or month comes first is
decided by the file as a whole: by a number above 12, or by the order in which no message is older than the one before.
If both would do, a warning says so, and the label ``date_order`` what was assumed.

Grammar: [mark] ["["] date [","] time [am/pm] ("]" or " -") [name ": "] text; a line without a stamp continues the text.

What the app writes itself (a line without a speaker, or a text after U+200E on iOS: a deleted message, an omitted
image) is a ``notice``; files and omitted media are ``attachments``. Times are those of the phone, without a zone.

Sources: https://faq.whatsapp.com/1180414079177245 (exporting a chat); the layout itself has no official description.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from turnlens.formats.bad_input import BadRow
from turnlens.formats.format import Format
from turnlens.formats.source_file import Source

Order = Literal["day/month/year", "month/day/year", "year/month/day"]
Date = tuple[int, int, int]

_M = r"[\u200e\u200f\u202a-\u202e\u2066-\u2069]*"  # marks of the direction of writing, which may stand anywhere
# Words beside times of twelve hours, as CLDR has them, without dots and blanks.
_AFTERNOON_WORDS = """pm م 下午 中午 晚上 午後 오후 μμ ös ch du слоб datarde danoite nachm odp pop ip em eh пп попл
поподне popiet pēcpusd nm md ptg үх بظ بعدازظهر אחה״צ अपराह्न หลังเที่ยง"""
_MORNING_WORDS = """am ص 上午 凌晨 早上 午前 오전 πμ öö sa de проб damanhã damadrugada vorm dop ap fm fh дп претпл
преподне priešpiet priekšp vm pd pg үө قظ قبلازظهر לפנה״צ पूर्वाह्न ก่อนเที่ยง"""
_AFTERNOON, _MORNING = frozenset(_AFTERNOON_WORDS.split()), frozenset(_MORNING_WORDS.split())
_HALF = "|".join(r"[.\s]{0,2}".join(half) for half in f"{_AFTERNOON_WORDS} {_MORNING_WORDS}".split())
_LINE = re.compile(
    rf"{_M}(?:\[{_M})?(?P<a>\d{{1,4}}){_M}[./-]{_M}\s?(?P<b>\d{{1,2}}){_M}[./-]{_M}\s?(?P<c>\d{{1,4}})\.?"
    rf"(?:\s[^\W\d]\.(?=,))?{_M}[,،]?"  # a short word for "year"
    rf"\s+(?P<before>(?:(?i:{_HALF})\.?|[^\W\d]{{1,4}})\s?)?{_M}(?P<hour>\d{{1,2}})[:.](?P<minute>\d{{2}})"
    rf"(?:[:.](?P<second>\d{{2}}))?(?:{_M}\s?(?P<after>(?i:{_HALF})\.?|[^\W\d]\.?\s?[^\W\d]?\.?))?{_M}"
    r"(?:\]|\s[-–])\s?(?P<rest>.*)",
    re.DOTALL,
)
_MARKS = re.compile(_M)
_APP = "\u200e"  # before what the app writes, on iOS
_FILE = re.compile(rf"{_APP}?<[^<>:]*: ?(?P<ios>[^<>]+\.\w+)>|^{_APP}?(?P<android>\S[^\n]*\.\w{{2,5}}) \([^()\n]+\)\n?")
_OMITTED = re.compile(r"<([^<>]+)>\Z|<(Media omitted|[^\s!-~][^<>]*)>\n")  # and a caption
_APPENDED = re.compile(rf"(?:{_APP}<|<(?=This message was edited>))([^<>]+)>$")
_DELETED = re.compile(r"(?:This message was deleted|You deleted this message)\.?")


class Entry(NamedTuple):
    """A line with a time, and its text with the lines that go on with it."""

    number: int
    stamp: re.Match[str]
    lines: list[str]


def records(source: Source) -> Iterator[tuple[int, list[Entry] | BadRow]]:
    """The whole chat."""
    entries: list[Entry] = []
    last = 0
    for number, line in source.text_lines():
        source.tick()
        stamp = _LINE.match(line)
        if stamp is not None:
            entries.append(Entry(number, stamp, [stamp["rest"]]))
        elif entries:
            entries[-1].lines.extend(["", line] if number > last + 1 else [line])
        else:
            yield number, BadRow(f"found {line[:40]!r}; expected {FORMAT.layout}")
        last = number
    if entries:
        yield entries[0].number, entries


def convert(raw: list[Entry], source: Source) -> dict[str, Any]:
    """A message for every line with a time."""
    dates = [(int(entry.stamp["a"]), int(entry.stamp["b"]), int(entry.stamp["c"])) for entry in raw]
    order, is_sure = date_order(dates)
    if not is_sure:
        source.warn(f"the dates could be read as day/month or as month/day; assumed {order}")
    messages = [
        {**_message("\n".join(entry.lines)), "time": _time(entry, date, order)} for entry, date in zip(raw, dates)
    ]
    return {"messages": messages, "date_order": None if is_sure else f"{order} (assumed)"}


def date_order(dates: Sequence[Date]) -> tuple[Order, bool]:
    """The order of the numbers in dates, the oldest of which comes first, and whether it is certain.

    >>> date_order([(1, 2, 24), (13, 2, 24)])
    ('day/month/year', True)
    >>> date_order([(1, 9, 24), (2, 1, 24)])
    ('month/day/year', True)
    >>> date_order([(1, 2, 24), (1, 3, 24)])
    ('month/day/year', False)
    """
    if any(a > 31 for a, _, _ in dates):
        return "year/month/day", True
    if any(a > 12 for a, _, _ in dates):
        return "day/month/year", True
    if any(b > 12 for _, b, _ in dates):
        return "month/day/year", True
    # neither is impossible: the order in which the fewest messages go back in time, and then the shorter chat
    day_first = _course([(c, b, a) for a, b, c in dates])
    month_first = _course([(c, a, b) for a, b, c in dates])
    order: Order = "month/day/year" if month_first < day_first else "day/month/year"
    return order, month_first[0] != day_first[0] or all(a == b for a, b, _ in dates)


def _course(dates: list[Date]) -> tuple[int, int]:
    """The number of steps back in these dates, and roughly the days that they span."""
    days = [(year * 12 + month) * 31 + day for year, month, day in dates]
    return sum(later < earlier for earlier, later in pairwise(days)), max(days) - min(days)


def _time(entry: Entry, date: Date, order: Order) -> str:
    parts = dict(zip(order.split("/"), date))
    year = parts["year"] + 2000 if parts["year"] < 100 else parts["year"]
    stamp = entry.stamp
    hour = int(stamp["hour"])
    half = re.sub(r"[\s.]", "", stamp["after"] or stamp["before"] or "").casefold()
    if half in _AFTERNOON:
        hour = hour % 12 + 12
    elif half in _MORNING:
        hour %= 12
    try:
        time = datetime(year, parts["month"], parts["day"], hour, int(stamp["minute"]), int(stamp["second"] or 0))
    except ValueError as error:
        written = stamp[0].removesuffix(stamp["rest"]).strip()
        problem = f"found the time {written!r}, which is not a time in the order {order} ({error})"
        raise BadRow(problem, entry.number) from None
    return time.isoformat()


def _message(text: str) -> dict[str, Any]:
    """The speaker and text, and labels for files and notices."""
    name, colon, text = text.partition(": ")
    if not colon:
        return {"role": "system", "content": "", "notice": _MARKS.sub("", name)}
    message: dict[str, Any] = {"role": _MARKS.sub("", name).lstrip("~").strip() or "unknown", "content": ""}
    files = [match["ios"] or match["android"] for match in _FILE.finditer(text)]
    text = _FILE.sub("", text).strip()
    omitted = _OMITTED.match(text)
    if omitted:
        files, text = [*files, omitted[1] or omitted[2]], text[omitted.end() :].strip()
    appended = _APPENDED.search(text)
    if text.startswith(_APP) or _DELETED.fullmatch(text):
        message["notice"], text = text.lstrip(_APP), ""
    elif appended:
        message["notice"], text = appended[1], text[: appended.start()].rstrip()
    return {**message, "content": text, "attachments": files or None}


FORMAT = Format(
    name="whatsapp",
    is_export=True,
    description="a WhatsApp chat, exported as text",
    layout="lines such as “[31/12/2023, 21:05:59] Anna: …” or “31/12/2023, 21:05 - Anna: …”",
    records=records,
    convert=convert,
    matches=lambda head: bool(_LINE.match(head.line)),  # a date and a time
)
