"""MultiWOZ 2.0 and 2.1: ``data.json``, one JSON object of all dialogues by their id.

User and system take turns, the user first. The label ``domains`` lists the domains that the goal sets a task in; the
goal's ``message`` and ``topic`` are not domains. Where ``valListFile`` and ``testListFile``, one id a line, lie beside
it, the label ``split`` says which official part a dialogue belongs to. MultiWOZ 2.2 has the layout of Schema-Guided
Dialogue and is read in the same way; its parts are folders.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from turnlens.formats.bad_input import parse_record
from turnlens.formats.format import Format, Head
from turnlens.formats.source_file import Source
from turnlens.papers.formats import sgd

_NO_DOMAINS = ("message", "topic")
_DATABASES = ("attraction", "bus", "hospital", "hotel", "police", "restaurant", "taxi", "train")
# The parts that are listed in files of ids; dialogues in neither list are for training.
_SPLITS = {"vallistfile.*": "dev", "testlistfile.*": "test"}
_SIDECARS = {
    "ontology.json": "slots and values",
    "slot_descriptions.json": "descriptions of slots",
    "dialog_acts.json": "dialogue acts",
    "dialogue_acts.json": "dialogue acts",
    "system_acts.json": "dialogue acts",
    **dict.fromkeys(_SPLITS, "ids of a split"),
    **{f"{domain}_db.json": "a database" for domain in _DATABASES},
}


def records(source: Source) -> Iterator[tuple[int, Any]]:
    """The dialogues, each with its split where that is known."""
    lists = _split_lists(source.path.parent)
    split_of = {
        line.strip(): split for split, file in lists.items() for line in file.read_text(encoding="utf-8").splitlines()
    }
    for number, record in source.keyed_records():
        known = lists and isinstance(record, dict) and "id" in record
        yield number, {**record, "split": split_of.get(record["id"], "train")} if known else record


def _split_lists(folder: Path) -> dict[str, Path]:
    """The files in a folder that list the ids of a split, by the split's name."""
    lists = {}
    for file in sorted(folder.iterdir()):
        split = next((split for pattern, split in _SPLITS.items() if fnmatchcase(file.name.lower(), pattern)), None)
        if split is not None and file.is_file():
            lists[split] = file
    return lists


def convert(raw: Any, source: Source) -> dict[str, Any]:
    """Only release 2.2 names the speakers and has a ``dialogue_id``; before it, user and system alternate."""
    dialogue = parse_record(raw)
    if "dialogue_id" in dialogue:
        return sgd.convert(dialogue, source)
    roles = ("user", "assistant")
    return {
        **({"split": dialogue["split"]} if "split" in dialogue else {}),
        "id": dialogue["id"],
        "messages": [{"role": roles[i % 2], "content": turn["text"]} for i, turn in enumerate(dialogue["log"])],
        "domains": [
            name
            for name, goal in dialogue["goal"].items()
            if goal and isinstance(goal, dict) and name not in _NO_DOMAINS
        ],
    }


def matches(head: Head) -> bool:
    """The file's own keys are ids, so those inside the first dialogue decide."""
    return {"goal", "log"} <= head.inner_keys


FORMAT = Format(
    name="multiwoz",
    description="MultiWOZ 2.0, 2.1 (data.json) and 2.2 (dialogues_*.json)",
    layout='one object of dialogues by id: {"…": {"goal": {"hotel": {…}, …}, "log": [{"text": "…"}, …]}, …}',
    records=records,
    convert=convert,
    matches=matches,
    sidecars=_SIDECARS,
)
