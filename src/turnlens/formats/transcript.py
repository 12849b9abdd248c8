"""Transcripts: lines of ``Name: what is said``, perhaps with times (``[00:12] Name: …``, ``Name (00:12): …``).

A file is one conversation; lines of ``---``, ``===`` or ``***`` separate several. Who speaks is decided by the file as
a whole: a name begins at least two lines, or stands beside a time or in bold type (``**Name:**``), or every line begins
with one. Other lines go on with what was said before, and what precedes the first speaker is the label ``title``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from turnlens.formats.format import Format, Head
from turnlens.formats.message_times import said_when
from turnlens.formats.source_file import BadRow, Source
from turnlens.formats.speaker_lines import speakers, spoken_by

_SEPARATOR = re.compile(r"\s*(-{3,}|={3,}|\*{3,}|_{3,})\s*")
_LEAST_SHARE = 0.3


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
            messages.append({"role": spoken.name, "content": [spoken.text], **said_when(spoken.time)})
        else:
            (messages[-1]["content"] if messages else title).append(line.strip())
    if not messages:
        raise BadRow(f"found no line that a speaker begins; expected {FORMAT.layout}")
    for message in messages:
        message["content"] = "\n".join(message["content"]).strip()
    return {"messages": messages, "title": "\n".join(title) or None}


def matches(head: Head) -> bool:
    """Enough lines begin with a name that begins others too: a list of settings has each name once."""
    lines = [line for line in head.lines if not _SEPARATOR.fullmatch(line)]
    spoken = [line.name for line in (spoken_by(line, speakers(lines)) for line in lines) if line is not None]
    return len(set(spoken)) < len(spoken) and len(spoken) >= _LEAST_SHARE * len(lines)


FORMAT = Format(
    name="transcript",
    description="text with lines of “Name: what is said”",
    layout="lines that begin with who speaks (Anna: Good morning.), a file for each conversation, or --- between them",
    records=records,
    convert=convert,
    matches=matches,
)
