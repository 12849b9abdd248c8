"""Transcribed speech: JSON of Whisper and whisper.cpp, and subtitles (WebVTT, SubRip).

A file is one conversation, a segment or caption a message with its ``start`` and ``end`` in seconds. In JSON, the
speaker is the one that diarisation gives (``speaker``: ``SPEAKER_00``). In subtitles it is that of a voice span
(``<v Anna>``) or of a line ``Anna: …``; captions without one go on with the speaker before. Where nobody is named, the
role is ``speaker``.

Grammar of subtitles: blocks between blank lines, each an optional name or number, a line ``start --> end``, text. A
blank line after the times ends nothing. Where captions roll up, so that each repeats lines of the one before it, these
are read once.

Sources: https://github.com/openai/whisper (``transcribe.py``), https://github.com/m-bain/whisperX,
https://github.com/ggml-org/whisper.cpp (``examples/cli``, ``--output-json``), https://www.w3.org/TR/webvtt1/ and
https://en.wikipedia.org/wiki/SubRip; subtitles are parsed by `webvtt-py`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from turnlens.errors import ConversationError
from turnlens.formats.bad_input import BadRow, TooLargeError, line_limit, parse_record
from turnlens.formats.format import Format, Head, signs
from turnlens.formats.source_file import Source
from turnlens.formats.transcript import speakers, spoken_by

_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t]+([^\s<>][^<>]*)>")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<\d[\d:.]*>|\{\\[^{}]*\}")
_TIMING = re.compile(r"\s*(\d+:)?\d{2}:\d{2}[.,]\d{3}\s+-->\s")
_TIMES = r"[ \t]*(?:\d+:)?\d{2}:\d{2}[.,]\d{3}[ \t]+-->"
# Blank lines after times, where neither times nor a block of another kind follow.
_BLANK_AFTER_TIMES = re.compile(
    rf"^({_TIMES}[^\n]*\n)(?:[ \t]*\n)+(?!(?:[^\n]*\n)?{_TIMES})(?!NOTE|STYLE|REGION)", re.M
)
_MOST_ROLLED = 8  # lines; a screen shows two or three
_WORD_TIME = re.compile(r"<\d[\d:.]*>")  # within captions that roll up
_UNNAMED = "speaker"
# Where the segments are, and how many of their units make a second.
_SEGMENTS = {"segments": 1, "transcription": 1000, "chunks": 1}


def _whisper(raw: Any, source: Source) -> dict[str, Any]:
    """A message for every segment with a text."""
    transcript = parse_record(raw)
    place = next((place for place in _SEGMENTS if isinstance(transcript.get(place), list)), None)
    if place is None:
        raise BadRow(f"found the keys {', '.join(transcript)}; expected {WHISPER.layout}")
    language = transcript.get("language") or (transcript.get("result") or {}).get("language")
    messages = [_segment(segment, _SEGMENTS[place]) for segment in transcript[place]]
    return {"messages": [message for message in messages if message["content"]], "language": language}


def _segment(segment: dict[str, Any], units: int) -> dict[str, Any]:
    pair = segment.get("timestamp")  # of Transformers
    start, end = pair if isinstance(pair, list) else (segment.get("start"), segment.get("end"))
    offsets = segment.get("offsets") or {"from": start, "to": end}
    times = {"start": offsets["from"], "end": offsets["to"]}
    return {
        "role": str(segment.get("speaker") or _UNNAMED),
        "content": (segment["text"] or "").strip(),
        **{name: float(time) / units for name, time in times.items() if isinstance(time, int | float)},
    }


def _captions(source: Source) -> Iterator[tuple[int, list[Any]]]:
    """All captions of the file, by the library."""
    import webvtt
    from webvtt.errors import MalformedCaptionError, MalformedFileError

    with source.open() as file:
        raw = file.read(line_limit() + 1)
    if len(raw) > line_limit():
        raise ConversationError(source.name, str(TooLargeError("the file")))
    text = _BLANK_AFTER_TIMES.sub(r"\1", raw.decode("utf-8-sig").replace("\r\n", "\n"))
    kind = "vtt" if text.lstrip().startswith("WEBVTT") else "srt"
    if kind == "srt" and _TIMING.match(text):  # without the numbers that the library expects
        text = re.sub(rf"^(?:\d+[ \t]*\n)?({_TIMES})", r"1\n\1", text.lstrip(), flags=re.M)
    try:
        captions = webvtt.WebVTT.from_buffer(text.split("\n"), format=kind).captions
    except (MalformedCaptionError, MalformedFileError) as error:
        raise ConversationError(source.name, f"malformed subtitles ({error}); expected {SUBTITLES.layout}") from None
    if captions:
        yield 1, captions


def _subtitles(raw: list[Any], source: Source) -> dict[str, Any]:
    """A message for every speaker in a caption."""
    names = speakers(line for caption in raw for line in _plain(caption.raw_text).splitlines())
    messages: list[dict[str, Any]] = []
    speaker = _UNNAMED
    for caption, shown in zip(raw, _rolled(raw)):
        for name, text in _spoken(shown, names):
            speaker = name or speaker
            times = {"start": _seconds(caption.start_time), "end": _seconds(caption.end_time)}
            messages.append({"role": speaker, "content": text, **times})
    return {"messages": messages}


def _rolled(captions: list[Any]) -> list[str]:
    """The text of each caption without the lines that it repeats of the one before it, if they roll up."""
    texts = [caption.raw_text for caption in captions]
    lines = [[line for line in _plain(text).splitlines() if line.strip()] for text in texts]
    repeated = [0, *(_overlap(before, after) for before, after in pairwise(lines))]
    repeats = 2 * sum(map(bool, repeated)) > len(texts) > 3 and not any(map(_VOICE.search, texts))
    is_rolling = repeats or any(map(_WORD_TIME.search, texts))
    return ["\n".join(own[n:]) for own, n in zip(lines, repeated)] if is_rolling else texts


def _overlap(before: list[str], after: list[str]) -> int:
    """The number of lines that end one caption and begin the next."""
    most = min(len(after), _MOST_ROLLED)
    return next(n for n in range(most, -1, -1) if after[:n] == before[len(before) - n :])


def _spoken(text: str, names: frozenset[str]) -> Iterable[tuple[str | None, str]]:
    """``(speaker or None, text)`` in order: voice spans first, then lines that begin with a name."""
    before, *voices = _VOICE.split(text)
    if voices:
        pieces = [(None, before), *zip(voices[::2], voices[1::2])]
        return [(name and html.unescape(name.strip()), _plain(words)) for name, words in pieces if _plain(words)]
    spoken: list[tuple[str | None, list[str]]] = []
    for line in _plain(text).splitlines():
        named = spoken_by(line, names)
        if named is not None:
            spoken.append((named.name, [named.text]))
        elif spoken:
            spoken[-1][1].append(line)
        else:
            spoken.append((None, [line]))
    return [(name, "\n".join(words).strip()) for name, words in spoken]


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub("", text)).strip()


def _seconds(time: Any) -> float:
    return float(time.hours * 3600 + time.minutes * 60 + time.seconds + time.milliseconds / 1000)


def _is_subtitles(head: Head) -> bool:
    """The signature of WebVTT, or a line of times, in SRT after a number."""
    if head.line.split(maxsplit=1)[:1] == ["WEBVTT"]:
        return True
    if bare := _TIMING.match(head.line):
        return bare[1] is not None  # as SRT has hours
    return len(head.lines) > 1 and head.line.strip().isdecimal() and bool(_TIMING.match(head.lines[1]))


_has_segments = signs("segments/start segments/text", "transcription/offsets transcription/text")
WHISPER = Format(
    name="whisper",
    description="transcribed speech with or without speakers (Whisper, WhisperX, whisper.cpp; JSON)",
    layout='{"segments": [{"start", "end", "text", "speaker"}, …]}, or "transcription" of such',
    convert=_whisper,
    # the segments of Taskmaster have a conversation's id beside them
    matches=lambda head: (
        (_has_segments(head) and not head.has("conversation_id"))
        or (head.keys == {"text", "chunks"} and head.has("chunks/timestamp"))  # Transformers
    ),
)
SUBTITLES = Format(
    name="subtitles",
    description="WebVTT and SRT, with or without speakers",
    layout="WebVTT, or numbered captions with times (00:00:01,000 --> 00:00:04,000)",
    records=_captions,
    convert=_subtitles,
    matches=_is_subtitles,
)
