"""Subtitles: WebVTT and SubRip (SRT), as meeting and transcription tools write them.

A file is one conversation, a caption a message with its ``start`` and ``end`` in seconds. The speaker is that of a
voice span (``<v Anna>``) or of a line ``Anna: …``; captions without one go on with the speaker before, or with
``speaker`` where nobody is named.

Sources: https://www.w3.org/TR/webvtt1/ and https://en.wikipedia.org/wiki/SubRip; parsed by `webvtt-py`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from typing import Any

from turnlens.errors import ConversationError
from turnlens.formats.format import Format, Head
from turnlens.formats.limits import TooLargeError, line_limit
from turnlens.formats.source_file import Source
from turnlens.formats.speaker_lines import speakers, spoken_by

_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t]+([^\s<>][^<>]*)>")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<\d[\d:.]*>")
_TIMING = re.compile(r"\s*(\d+:)?\d{2}:\d{2}[.,]\d{3}\s+-->\s")
_UNNAMED = "speaker"


def records(source: Source) -> Iterator[tuple[int, list[Any]]]:
    """All captions of the file, by the library."""
    import webvtt
    from webvtt.errors import MalformedCaptionError, MalformedFileError

    with source.open() as file:
        raw = file.read(line_limit() + 1)
    if len(raw) > line_limit():
        raise ConversationError(source.name, str(TooLargeError("the file")))
    text = raw.decode("utf-8-sig")
    kind = "vtt" if text.lstrip().startswith("WEBVTT") else "srt"
    try:
        captions = webvtt.WebVTT.from_buffer(text.split("\n"), format=kind).captions
    except (MalformedCaptionError, MalformedFileError) as error:
        raise ConversationError(source.name, f"malformed subtitles ({error}); expected {FORMAT.layout}") from None
    if captions:
        yield 1, captions


def convert(raw: list[Any], source: Source) -> dict[str, Any]:
    """A message for every speaker in a caption."""
    names = speakers(line for caption in raw for line in _plain(caption.raw_text).splitlines())
    messages: list[dict[str, Any]] = []
    speaker = _UNNAMED
    for caption in raw:
        for name, text in _spoken(caption.raw_text, names):
            speaker = name or speaker
            times = {"start": _seconds(caption.start_time), "end": _seconds(caption.end_time)}
            messages.append({"role": speaker, "content": text, **times})
    return {"messages": messages}


def _spoken(text: str, names: frozenset[str]) -> Iterable[tuple[str | None, str]]:
    """``(speaker or None, text)`` in order: voice spans first, then lines that begin with a name."""
    before, *voices = _VOICE.split(text)
    if voices:
        pieces = [(None, before), *zip(voices[::2], voices[1::2])]
        return [(name and html.unescape(name.strip()), _plain(said)) for name, said in pieces if _plain(said)]
    spoken: list[tuple[str | None, list[str]]] = []
    for line in _plain(text).splitlines():
        named = spoken_by(line, names)
        if named is not None:
            spoken.append((named.name, [named.text]))
        elif spoken:
            spoken[-1][1].append(line)
        else:
            spoken.append((None, [line]))
    return [(name, "\n".join(said).strip()) for name, said in spoken]


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub("", text)).strip()


def _seconds(time: Any) -> float:
    return float(time.hours * 3600 + time.minutes * 60 + time.seconds + time.milliseconds / 1000)


def matches(head: Head) -> bool:
    """The signature of WebVTT, or a number and a line of times."""
    if head.line.split(maxsplit=1)[:1] == ["WEBVTT"]:
        return True
    return len(head.lines) > 1 and head.line.strip().isdecimal() and bool(_TIMING.match(head.lines[1]))


FORMAT = Format(
    name="subtitles",
    description="WebVTT and SRT, with or without speakers",
    layout="WebVTT, or numbered captions with times (00:00:01,000 --> 00:00:04,000)",
    records=records,
    convert=convert,
    matches=matches,
)
