"""DailyDialog: ``dialogues_text.txt``, one dialogue per line, every turn ended by ``__eou__``.

The two speakers take turns. The tokenisation of the release (spaces before punctuation) is kept.
"""

from __future__ import annotations

from typing import Any

from turnlens.formats.bad_input import BadRow, parse_text
from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import Source

_TURN_END = "__eou__"


def convert(raw: bytes, source: Source) -> dict[str, Any]:
    """The release names no speakers, so user and assistant alternate."""
    text = parse_text(raw)
    if _TURN_END not in text:
        raise BadRow(f"found no {_TURN_END}; expected {FORMAT.layout}")
    turns = [turn.strip() for turn in text.strip().removesuffix(_TURN_END).split(_TURN_END)]
    roles = ("user", "assistant")
    return {"messages": [{"role": roles[i % 2], "content": turn} for i, turn in enumerate(turns)]}


def matches(head: Head) -> bool:
    """The mark at the end of a turn is the release's own."""
    return _TURN_END in head.line


FORMAT = Format(
    name="dailydialog",
    description="DailyDialog (dialogues_text.txt)",
    layout=f"one dialogue a line, its turns separated by {_TURN_END}",
    records=Source.lines,
    convert=convert,
    matches=matches,
    sidecars={
        "dialogues_act.txt": "dialogue acts",
        "dialogues_emotion.txt": "emotions",
        "dialogues_topic.txt": "topics",
    },
)
