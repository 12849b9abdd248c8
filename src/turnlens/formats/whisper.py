"""Transcribed speech as JSON: Whisper, WhisperX and whisper.cpp, and others with segments of the same names.

A file is one conversation, a segment a message with its ``start`` and ``end`` in seconds. The speaker is the one that
diarisation found (``speaker``: ``SPEAKER_00``, ``A``); without diarisation it is ``speaker`` throughout.

Sources: ``segments``: https://github.com/openai/whisper (``transcribe.py``) and https://github.com/m-bain/whisperX;
``transcription``: https://github.com/ggml-org/whisper.cpp (``examples/cli``, ``--output-json``);
``utterances``: https://www.assemblyai.com/docs/speech-to-text/speaker-diarization (milliseconds).
"""

from __future__ import annotations

from typing import Any

from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import BadRow, Source, parse_record

_UNNAMED = "speaker"
# Where the segments are, and how many of their units make a second.
_LAYOUTS = {"segments": 1, "transcription": 1000, "utterances": 1000}


def convert(raw: Any, source: Source) -> dict[str, Any]:
    """A message for every segment that says something."""
    transcript = parse_record(raw)
    place = next((place for place in _LAYOUTS if isinstance(transcript.get(place), list)), None)
    if place is None:
        raise BadRow(f"found the keys {', '.join(transcript)}; expected {FORMAT.layout}")
    language = transcript.get("language") or (transcript.get("result") or {}).get("language")
    messages = [_message(segment, _LAYOUTS[place]) for segment in transcript[place]]
    return {"messages": [message for message in messages if message["content"]], "language": language}


def _message(segment: dict[str, Any], units: int) -> dict[str, Any]:
    offsets = segment.get("offsets") or {"from": segment.get("start"), "to": segment.get("end")}
    times = {"start": offsets["from"], "end": offsets["to"]}
    return {
        "role": str(segment.get("speaker") or _UNNAMED),
        "content": segment["text"].strip(),
        **{name: float(time) / units for name, time in times.items() if isinstance(time, int | float)},
    }


def matches(head: Head) -> bool:
    """Segments of a text with a start; those of Taskmaster have a conversation's id beside them."""
    has_segments = any({"start", "text"} <= head.inner.get(place, frozenset()) for place in ("segments", "utterances"))
    is_cpp = {"offsets", "text"} <= head.inner.get("transcription", frozenset())
    return (has_segments or is_cpp) and "conversation_id" not in head.keys


FORMAT = Format(
    name="whisper",
    description="transcribed speech with or without speakers (Whisper, WhisperX, whisper.cpp; JSON)",
    layout='{"segments": [{"start", "end", "text", "speaker"}, …]}, or "transcription" or "utterances" of such',
    records=Source.records,
    convert=convert,
    matches=matches,
)
