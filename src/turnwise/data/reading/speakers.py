"""Lines that begin with who speaks, such as ``Anna: Good morning``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

_TIME = r"(?:\d{4}-\d{2}-\d{2}[T ])?\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?(?:\s?[AaPp][Mm])?"
# A time before or after the name, bold type as in Markdown, and the colon of any script. A name has no sentence in it.
_NAMED = re.compile(
    rf"(?:[\[(]?(?P<time>{_TIME})[\])]?\s*(?:[-–]\s*)?)?"
    rf"(?P<bold>\*\*|__)?(?P<name>(?!\s)[^:：?!;,。，\t\[\](){{}}*<>\x22]{{1,40}}?)(?:\*\*|__)?"
    rf"(?:\s*[\[(](?P<later>{_TIME})[\])])?\s*(?::(?:\*\*|__)?(?=\s|$)|：)\s*(?P<text>.*)",
    re.DOTALL,
)
_MOST_WORDS = 5


class NamedLine(NamedTuple):
    """What a line says, who says it, and perhaps when; a time or bold type marks the name as one."""

    name: str
    text: str
    time: str | None
    is_marked: bool


def named_line(line: str) -> NamedLine | None:
    """The line in its parts; None if it does not begin with something like a name.

    >>> named_line("[00:01:05] Dr. Who: Hello!")
    NamedLine(name='Dr. Who', text='Hello!', time='00:01:05', is_marked=True)
    >>> named_line("see https://example.com") is None
    True
    """
    match = _NAMED.match(line.lstrip())
    if match is None:
        return None
    name = match["name"].strip()
    if len(name.split()) > _MOST_WORDS or not any(character.isalpha() for character in name):
        return None
    time = match["time"] or match["later"]
    return NamedLine(name, match["text"].strip(), time, is_marked=bool(time or match["bold"]))


def speakers(lines: Iterable[str]) -> frozenset[str]:
    """The names that speak.

    They begin at least two lines, or are marked; where every line begins with a name, once is enough, unless it is in
    small letters.

    A line such as ``Address: 5 Long Road`` inside what somebody says is no speaker.
    """
    counts: Counter[str] = Counter()
    are_all_named = True
    for line in lines:
        named = named_line(line)
        if named is None:
            are_all_named = False
        else:
            counts[named.name] += 2 if named.is_marked else 1
    return frozenset(name for name, count in counts.items() if count > 1 or (are_all_named and not name[0].islower()))


def spoken_by(line: str, names: Collection[str]) -> NamedLine | None:
    """The line in its parts if one of ``names`` begins it."""
    named = named_line(line)
    return named if named is not None and named.name in names else None
