"""MetaLWOZ: ``dialogues/*.txt``, one JSON object per line.

The two speakers take turns, the one who plays the bot first. The ids of the crowd workers are left out.
"""

from __future__ import annotations

from typing import Any

from turnlens.formats.bad_input import BadRow, parse_record
from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import Source


def convert(raw: Any, source: Source) -> dict[str, Any]:
    """The release names no speakers, but the bot always opens."""
    dialogue = parse_record(raw)
    turns = dialogue["turns"]
    if not isinstance(turns, list):
        raise BadRow(f"found {type(turns).__name__} as 'turns'; expected {FORMAT.layout}")
    roles = ("assistant", "user")
    return {
        "id": dialogue["id"],
        "messages": [{"role": roles[i % 2], "content": text} for i, text in enumerate(turns)],
        "domain": dialogue["domain"],
        "task_id": dialogue["task_id"],
    }


def matches(head: Head) -> bool:
    """All four keys are needed: ``id`` and ``turns`` are common names."""
    return {"id", "domain", "task_id", "turns"} <= head.keys


FORMAT = Format(
    name="metalwoz",
    description="MetaLWOZ (dialogues/*.txt)",
    layout='{"id", "domain", "task_id", "turns": ["…", …]} on each line',
    records=Source.records,
    convert=convert,
    matches=matches,
    sidecars={"tasks.txt": "descriptions of tasks"},
)
