"""Published task-oriented corpora in JSON, and the self-dialogue corpus."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import count, filterfalse, takewhile
from pathlib import Path
from typing import Any

from turnlens.errors import ConversationError
from turnlens.formats.bad_input import BadRow, parse_record
from turnlens.formats.format import Format, signs
from turnlens.formats.source_file import Source
from turnlens.papers.formats.speakers import SIDES, alternating, spoken

# --- Schema-Guided Dialogue and MultiWOZ 2.2, which has its layout: ``dialogues_*.json``.
#
# The dialogue ids of the release repeat in train, dev and test, so the name of the split's folder precedes the id.
# A user message is labelled with its ``intent`` if exactly one is active.

_ROLES_SGD = {"USER": "user", "SYSTEM": "assistant"}
_SPLITS_SGD = ("train", "dev", "test")


def _message(turn: dict[str, Any]) -> dict[str, Any]:
    message = {"role": _ROLES_SGD[turn["speaker"]], "content": turn["utterance"]}
    active = {
        f"{frame['service']}:{frame['state']['active_intent']}"
        for frame in turn.get("frames", ())
        if frame.get("state", {}).get("active_intent", "NONE") != "NONE"
    }
    if len(active) == 1 and message["role"] == "user":
        message["intent"] = active.pop()
    return message


def _convert_sgd(raw: Any, source: Source) -> dict[str, Any]:
    """Puts the split before the id, which occurs in other splits too."""
    dialogue = parse_record(raw)
    split = source.path.absolute().parent.name
    return {
        "id": f"{split}-{dialogue['dialogue_id']}" if split in _SPLITS_SGD else dialogue["dialogue_id"],
        "messages": [_message(turn) for turn in dialogue["turns"]],
        "domains": dialogue["services"],
    }


SGD = Format(
    name="sgd",
    description="Schema-Guided Dialogue, also MultiWOZ 2.2 (dialogues_*.json)",
    layout='{"dialogue_id", "services", "turns": [{"speaker": "USER" or "SYSTEM", "utterance", "frames"}, …]}',
    convert=_convert_sgd,
    matches=signs("dialogue_id turns"),  # true of MultiWOZ 2.2 as well, which needs nothing else
    sidecars={"schema.json": "services and slots"},
)


# --- MultiWOZ 2.0 and 2.1: ``data.json``, one JSON object of all dialogues by their id.
#
# User and system take turns, the user first. The label ``domains`` lists the domains that the goal sets a task in; the
# goal's ``message`` and ``topic`` are not domains. Where ``valListFile`` and ``testListFile``, one id a line, lie
# beside it, the label ``split`` says which official part a dialogue belongs to. MultiWOZ 2.2 has the layout of Schema-
# Guided Dialogue and is read in the same way; its parts are folders.

_NO_DOMAINS = ("message", "topic")
_DATABASES = ("attraction", "bus", "hospital", "hotel", "police", "restaurant", "taxi", "train")
# The parts that are listed in files of ids; dialogues in neither list are for training.
_SPLITS_MULTIWOZ = {"vallistfile.*": "dev", "testlistfile.*": "test"}
_SIDECARS = {
    "ontology.json": "slots and values",
    "slot_descriptions.json": "descriptions of slots",
    "dialog_acts.json": "dialogue acts",
    "dialogue_acts.json": "dialogue acts",
    "system_acts.json": "dialogue acts",
    **dict.fromkeys(_SPLITS_MULTIWOZ, "ids of a split"),
    **{f"{domain}_db.json": "a database" for domain in _DATABASES},
}


def _records_multiwoz(source: Source) -> Iterator[tuple[int, Any]]:
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
    return {
        split: file
        for file in sorted(folder.iterdir())
        for pattern, split in _SPLITS_MULTIWOZ.items()
        if fnmatchcase(file.name.lower(), pattern) and file.is_file()
    }


def _convert_multiwoz(raw: Any, source: Source) -> dict[str, Any]:
    """Only release 2.2 names the speakers and has a ``dialogue_id``; before it, user and system alternate."""
    dialogue = parse_record(raw)
    if "dialogue_id" in dialogue:
        return _convert_sgd(dialogue, source)
    return {
        **({"split": dialogue["split"]} if "split" in dialogue else {}),
        "id": dialogue["id"],
        "messages": alternating(turn["text"] for turn in dialogue["log"]),
        "domains": [
            name
            for name, goal in dialogue["goal"].items()
            if goal and isinstance(goal, dict) and name not in _NO_DOMAINS
        ],
    }


MULTIWOZ = Format(
    name="multiwoz",
    description="MultiWOZ 2.0, 2.1 (data.json) and 2.2 (dialogues_*.json)",
    layout='one object of dialogues by id: {"…": {"goal": {"hotel": {…}, …}, "log": [{"text": "…"}, …]}, …}',
    records=_records_multiwoz,
    convert=_convert_multiwoz,
    matches=lambda head: {"goal", "log"} <= head.inner_keys,  # the file's own keys are ids
    sidecars=_SIDECARS,
)


# --- BiToD: ``en_train.json``, ``zh_test.json``, …, one JSON object of all dialogues by their id.
#
# What the wizard asks of the knowledge base, and its answers, are events too; they hold no text and are left out. The
# label ``domains`` is taken from the tasks of the scenario: a name such as ``hotels_en_US_search`` begins with its
# domain. Chinese names are given the English domain.

_ROLES_BITOD = {"User": "user", "Wizard": "assistant"}
_CHINESE_TASKS = {
    "宾馆查询": "hotels",
    "宾馆预订": "hotels",
    "餐馆查询": "restaurants",
    "餐馆预订": "restaurants",
    "景点查询": "attractions",
    "天气查询": "weathers",
    "香港地铁": "HKMTR",
}


def _is_query(event: dict[str, Any]) -> bool:
    return event["Agent"] == "KnowledgeBase" or event.get("Actions") == "query"


def _convert_bitod(raw: Any, source: Source) -> dict[str, Any]:
    """Leaves out what passes between the wizard and the knowledge base, and takes the domains from the tasks' names."""
    dialogue = parse_record(raw)
    tasks = [capability["Task"] for capability in dialogue["Scenario"]["WizardCapabilities"]]
    return {
        "id": dialogue["id"],
        "messages": spoken(filterfalse(_is_query, dialogue["Events"]), _ROLES_BITOD, "Agent", "Text"),
        # searching for a hotel and booking it are two tasks of one domain
        "domains": list(dict.fromkeys(_CHINESE_TASKS.get(task, task.split("_")[0]) for task in tasks)),
    }


BITOD = Format(
    name="bitod",
    description="BiToD (en_train.json, zh_train.json, …)",
    layout='one object of dialogues by id: {"…": {"Scenario": {"WizardCapabilities": [{"Task": "…"}, …]}, '
    '"Events": [{"Agent": "User" or "Wizard", "Text": "…"}, …]}, …}',
    records=Source.keyed_records,
    convert=_convert_bitod,
    matches=lambda head: {"Scenario", "Events"} <= head.inner_keys,  # the file's own keys are ids
    sidecars={"dict_en_zh.json": "translated values", "??_fewshot_dials.json": "ids of a split"},
)


# --- Doc2Dial: ``doc2dial_dial_train.json``, dialogues by domain and then by the document they are about.
#
# MultiDoc2Dial, which has no level of documents, is read too. The documents themselves (``doc2dial_doc.json``) hold no
# conversations.

_ROLES_DOC2DIAL = {"user": "user", "agent": "assistant"}
_DEPTH = 4  # dial_data, domain, document, and the array of dialogues


def _records_doc2dial(source: Source) -> Iterator[tuple[int, Any]]:
    """Dialogues below their domain and document, or in MultiDoc2Dial below their domain alone."""
    for number, (keys, dialogue) in source.json_members(_DEPTH):
        if len(keys) < 2 or keys[0] != "dial_data":
            actual = f"the key {keys[0]!r}" if keys else "no object of dialogues"
            raise ConversationError(source.name, f"found {actual}; expected {DOC2DIAL.layout}")
        yield number, {"domain": keys[1], **dialogue} if isinstance(dialogue, dict) else dialogue


def _convert_doc2dial(raw: Any, source: Source) -> dict[str, Any]:
    """The agent is the assistant; references to the document are left out."""
    dialogue = parse_record(raw)
    return {
        "id": dialogue["dial_id"],
        "messages": spoken(dialogue["turns"], _ROLES_DOC2DIAL, "role", "utterance"),
        "domain": dialogue["domain"],
    }


DOC2DIAL = Format(
    name="doc2dial",
    description="Doc2Dial (doc2dial_dial_*.json), also MultiDoc2Dial",
    layout='{"dial_data": {domain: {document: [{"dial_id", "turns": [{"role": "user" or "agent", "utterance"}, …]}, '
    "…]}}}",
    records=_records_doc2dial,
    convert=_convert_doc2dial,
    matches=signs("dial_data"),  # the one key of the outermost object is the release's own
    sidecars={"doc2dial_doc.json": "documents", "multidoc2dial_doc.json": "documents"},
)


# --- MetaLWOZ: ``dialogues/*.txt``, one JSON object per line.
#
# The two speakers take turns, the one who plays the bot first. The ids of the crowd workers are left out.


def _convert_metalwoz(raw: Any, source: Source) -> dict[str, Any]:
    """The release names no speakers, but the bot always opens."""
    dialogue = parse_record(raw)
    turns = dialogue["turns"]
    if not isinstance(turns, list):
        raise BadRow(f"found {type(turns).__name__} as 'turns'; expected {METALWOZ.layout}")
    return {
        "id": dialogue["id"],
        "messages": alternating(turns, SIDES[::-1]),
        "domain": dialogue["domain"],
        "task_id": dialogue["task_id"],
    }


METALWOZ = Format(
    name="metalwoz",
    description="MetaLWOZ (dialogues/*.txt)",
    layout='{"id", "domain", "task_id", "turns": ["…", …]} on each line',
    convert=_convert_metalwoz,
    matches=signs("id domain task_id turns"),  # all four, since ``id`` and ``turns`` are common names
    sidecars={"tasks.txt": "descriptions of tasks"},
)


# --- Taskmaster: JSON with ``conversation_id``, ``vertical`` (the label ``topic``) and ``utterances``.


def _convert_taskmaster(raw: Any, source: Source) -> dict[str, Any]:
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


TASKMASTER = Format(
    name="taskmaster",
    description="Taskmaster 1-4 (JSON)",
    layout='{"conversation_id", "vertical", "utterances": [{"index", "speaker", "text"}, …]}',
    convert=_convert_taskmaster,
    matches=signs("conversation_id utterances"),  # the two keys that all four releases have
)


# --- Self-dialogue corpus: CSV, one person playing both sides in ``Answer.sentence1``, ``Answer.sentence2``, ….
#
# The topic is the file's name without its digits (``fashion2.csv`` is about fashion). Runs of whitespace, which the
# crowd workers' typing left in many sentences, become one space; blank sentences are dropped.


def _convert_self_dialogue(raw: Any, source: Source) -> dict[str, Any]:
    """Sides alternate over all columns; only then are blank sentences dropped."""
    record = parse_record(raw)
    columns = list(takewhile(record.__contains__, (f"Answer.sentence{i}" for i in count(1))))
    if not columns:
        raise KeyError("Answer.sentence1")
    messages = alternating(" ".join(record[column].split()) for column in columns)
    return {
        "id": record["AssignmentId"],
        "topic": re.sub(r"\d+", "", source.stem).strip("_- "),
        "messages": [message for message in messages if message["content"]],
    }


SELF_DIALOGUE = Format(
    name="self_dialogue",
    description="Self-dialogue corpus (CSV)",
    layout="CSV with the columns AssignmentId, Answer.sentence1, Answer.sentence2, …",
    records=Source.rows,
    convert=_convert_self_dialogue,
    matches=signs("AssignmentId Answer.sentence1"),  # the former is the column of the crowd-working platform
)
