"""Transcripts: lines of ``Name: text``, perhaps with times (``[00:12] Name: …``, ``Name (00:12): …``).

A file is one conversation; lines of ``---``, ``===`` or ``***`` separate several. Who speaks is decided by the file as
a whole: a name begins at least two lines, or stands beside a time or in bold type (``**Name:**``), or every line begins
with one. Other lines continue the message before them, and those before the first speaker are the label ``title``.

Grammar: [time] [**]name[**] [(time)] ":" text, a name of at most 5 words and 40 characters; further lines of text;
conversations between lines of three or more ``-``, ``=``, ``*`` or ``_``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from turnlens.formats.bad_input import BadRow
from turnlens.formats.format import Format, Head
from turnlens.formats.message_times import spoken_time
from turnlens.formats.source_file import Source

_SEPARATOR = re.compile(r"\s*(-{3,}|={3,}|\*{3,}|_{3,})\s*")
_TIME = r"(?:\d{4}-\d{2}-\d{2}[T ])?\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?(?:\s?[AaPp][Mm])?"
# A time before or after the name, bold type as in Markdown, and the colon of any script. A name has no sentence in it.
_NAMED = re.compile(
    rf"(?:[\[(]?(?P<time>{_TIME})[\])]?\s*(?:[-–]\s*)?)?"
    rf"(?P<bold>\*\*|__)?(?P<name>(?!\s)[^:：?!;,。，\t\[\](){{}}*<>\x22]{{1,40}}?)(?:\*\*|__)?"
    rf"(?:\s*[\[(](?P<later>{_TIME})[\])])?\s*(?::(?:\*\*|__)?(?=\s|$)|：)\s*(?P<text>.*)",
    re.DOTALL,
)
_MOST_WORDS = 5
# What stands in small letters within names.
_PARTICLES = frozenset(["and", "of", "the", "de", "da", "di", "do", "du", "del", "della", "van", "von", "der", "den"])


class Transcript(NamedTuple):
    """The lines of a conversation, and who speaks in the file."""

    lines: list[tuple[int, str]]
    names: frozenset[str]


def records(source: Source) -> Iterator[tuple[int, Transcript]]:
    """The lines between separators."""
    names = speakers(text for _, text in source.text_lines() if not _SEPARATOR.fullmatch(text))
    lines: list[tuple[int, str]] = []
    for line in source.text_lines():
        if not _SEPARATOR.fullmatch(line[1]):
            lines.append(line)
        elif lines:
            yield lines[0][0], Transcript(lines, names)
            lines = []
    if lines:
        yield lines[0][0], Transcript(lines, names)


def convert(raw: Transcript, source: Source) -> dict[str, Any]:
    """A message for every line that a speaker begins."""
    messages: list[dict[str, Any]] = []
    title: list[str] = []
    for _, line in raw.lines:
        spoken = spoken_by(line, raw.names)
        if spoken is not None:
            messages.append({"role": spoken.name, "content": [spoken.text], **spoken_time(spoken.time)})
        else:
            (messages[-1]["content"] if messages else title).append(line.strip())
    if not messages:
        raise BadRow(f"found no line that a speaker begins; expected {FORMAT.layout}")
    for message in messages:
        message["content"] = "\n".join(message["content"]).strip()
    return {"messages": messages, "title": "\n".join(title) or None}


def matches(head: Head) -> bool:
    """Match if enough lines begin with a name that begins others too: a list of settings has each name once."""
    lines = [line for line in head.lines if not _SEPARATOR.fullmatch(line)]
    spoken = [line.name for line in (spoken_by(line, speakers(lines)) for line in lines) if line is not None]
    return len(set(spoken)) < len(spoken) and len(spoken) >= 0.3 * len(lines)


FORMAT = Format(
    name="transcript",
    description="text with lines of “Name: what is said”",
    layout="lines that begin with who speaks (Anna: Good morning.), a file for each conversation, or --- between them",
    records=records,
    convert=convert,
    matches=matches,
)


class NamedLine(NamedTuple):
    """The speaker, text and perhaps time of a line; a time or bold type marks the name as one."""

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

    They begin at least two lines, or are marked; where every line begins with a name, once is enough if it looks like
    one. A phrase such as ``Please confirm``, whose further words are in small letters, must begin a tenth of the lines
    and three of them, or, where every line begins with a name, two beside those of others.

    A line such as ``Address: 5 Long Road`` inside what somebody says is no speaker.
    """
    counts: Counter[str] = Counter()
    marked: set[str] = set()
    number, are_all_named = 0, True
    for line in lines:
        number += 1
        named = named_line(line)
        if named is None:
            are_all_named = False
        else:
            counts[named.name] += 1
            marked |= {named.name} if named.is_marked else set()
    least_of_phrases = 2 if are_all_named and len(counts) > 1 else max(3, number / 10)
    least = {name: _least(name, are_all_named, least_of_phrases) for name in counts}
    return frozenset(name for name, count in counts.items() if name in marked or count >= least[name])


def _least(name: str, are_all_named: bool, of_phrases: float) -> float:
    """The number of lines that must begin with a phrase to make it a name."""
    if any(word[0].islower() and word not in _PARTICLES for word in name.split()[1:]):
        return of_phrases
    return 1 if are_all_named and not name[0].islower() else 2


def spoken_by(line: str, names: Collection[str]) -> NamedLine | None:
    """The line in its parts if one of ``names`` begins it."""
    named = named_line(line)
    return named if named is not None and named.name in names else None
