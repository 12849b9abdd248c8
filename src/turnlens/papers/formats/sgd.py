"""Schema-Guided Dialogue and MultiWOZ 2.2, which has its layout: ``dialogues_*.json``.

The dialogue ids of the release repeat in train, dev and test, so the name of the split's folder precedes the id.
A user message is labelled with its ``intent`` if exactly one is active.
"""

from __future__ import annotations

from typing import Any

from turnlens.formats.bad_input import parse_record
from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import Source

_ROLES = {"USER": "user", "SYSTEM": "assistant"}
_SPLITS = ("train", "dev", "test")


def _message(turn: dict[str, Any]) -> dict[str, Any]:
    message = {"role": _ROLES[turn["speaker"]], "content": turn["utterance"]}
    active = {
        f"{frame['service']}:{frame['state']['active_intent']}"
        for frame in turn.get("frames", ())
        if frame.get("state", {}).get("active_intent", "NONE") != "NONE"
    }
    if len(active) == 1 and message["role"] == "user":
        message["intent"] = active.pop()
    return message


def convert(raw: Any, source: Source) -> dict[str, Any]:
    """Puts the split before the id, which occurs in other splits too."""
    dialogue = parse_record(raw)
    split = source.path.absolute().parent.name
    return {
        "id": f"{split}-{dialogue['dialogue_id']}" if split in _SPLITS else dialogue["dialogue_id"],
        "messages": [_message(turn) for turn in dialogue["turns"]],
        "domains": dialogue["services"],
    }


def matches(head: Head) -> bool:
    """True of MultiWOZ 2.2 as well, which needs nothing else."""
    return {"dialogue_id", "turns"} <= head.keys


FORMAT = Format(
    name="sgd",
    description="Schema-Guided Dialogue, also MultiWOZ 2.2 (dialogues_*.json)",
    layout='{"dialogue_id", "services", "turns": [{"speaker": "USER" or "SYSTEM", "utterance", "frames"}, …]}',
    records=Source.records,
    convert=convert,
    matches=matches,
    sidecars={"schema.json": "services and slots"},
)
