"""Taskmaster: JSON with ``conversation_id``, ``vertical`` (the label ``topic``) and ``utterances``."""

from __future__ import annotations

from typing import Any

from turnlens.formats.bad_input import parse_record
from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import Source


def convert(raw: Any, source: Source) -> dict[str, Any]:
    """Utterances are sorted by ``index``; the speakers' names, capitals in some releases, become lower case."""
    conversation = parse_record(raw)
    utterances = sorted(conversation["utterances"], key=lambda utterance: utterance["index"])
    row = {
        "id": conversation["conversation_id"],
        "messages": [{"role": turn["speaker"].lower(), "content": turn["text"]} for turn in utterances],
    }
    if conversation.get("vertical"):
        row["topic"] = conversation["vertical"]
    return row


def matches(head: Head) -> bool:
    """The two keys that all four releases have."""
    return {"conversation_id", "utterances"} <= head.keys


FORMAT = Format(
    name="taskmaster",
    description="Taskmaster 1-4 (JSON)",
    layout='{"conversation_id", "vertical", "utterances": [{"index", "speaker", "text"}, …]}',
    records=Source.records,
    convert=convert,
    matches=matches,
)
