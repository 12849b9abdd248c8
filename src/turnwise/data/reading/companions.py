"""Files that accompany the conversations of well-known releases and hold none themselves."""

from __future__ import annotations

import logging
from fnmatch import fnmatchcase
from pathlib import Path

# Names in lower case, and what the files hold. Known names only: other files that hold no conversations are most
# likely a mistake, which should be an error.
_COMPANIONS = {
    "schema.json": "services and slots (SGD, MultiWOZ 2.2)",
    "ontology.json": "slots and values (MultiWOZ)",
    "slot_descriptions.json": "descriptions of slots (MultiWOZ 2.1)",
    "dialog_acts.json": "dialogue acts (MultiWOZ 2.2)",
    "dialogue_acts.json": "dialogue acts (MultiWOZ)",
    "system_acts.json": "dialogue acts (MultiWOZ 2.1)",
    "vallistfile.*": "ids of a split (MultiWOZ)",
    "testlistfile.*": "ids of a split (MultiWOZ)",
    **{
        f"{domain}_db.json": "a database (MultiWOZ)"
        for domain in ("attraction", "bus", "hospital", "hotel", "police", "restaurant", "taxi", "train")
    },
    "dict_en_zh.json": "translated values (BiToD)",
    "??_fewshot_dials.json": "ids of a split (BiToD)",
    "doc2dial_doc.json": "documents (Doc2Dial)",
    "multidoc2dial_doc.json": "documents (MultiDoc2Dial)",
    "tasks.txt": "descriptions of tasks (MetaLWOZ)",
    "dialogues_act.txt": "dialogue acts (DailyDialog)",
    "dialogues_emotion.txt": "emotions (DailyDialog)",
    "dialogues_topic.txt": "topics (DailyDialog)",
    "readme.txt": "a description",
    "license.txt": "a licence",
}
# Beside the conversations.json of an assistant's export only: elsewhere, files of these names may hold anything.
_EXPORTED = "conversations.json"
_BESIDE_EXPORTED = {
    **dict.fromkeys(("user.json", "user_settings.json", "message_feedback.json"), "an account (ChatGPT)"),
    **dict.fromkeys(("model_comparisons.json", "shared_conversations.json"), "parts of conversations (ChatGPT)"),
    **dict.fromkeys(("users.json", "projects.json", "memories.json"), "an account (Claude)"),
}

# What shows that a folder holds a model or an unfinished run.
_MODEL_FILES = ("modules.json", "run.json")


# The parts that MultiWOZ lists in files of ids; dialogues in neither list are for training.
_SPLITS = {"vallistfile.*": "dev", "testlistfile.*": "test"}


def split_lists(folder: Path) -> dict[str, Path]:
    """The files in a folder that list the ids of a split, by the split's name."""
    lists = {}
    for file in sorted(folder.iterdir()):
        split = next((split for pattern, split in _SPLITS.items() if fnmatchcase(file.name.lower(), pattern)), None)
        if split is not None and file.is_file():
            lists[split] = file
    return lists


def without_companions(files: list[Path]) -> list[Path]:
    """Leave out the well-known companions of conversations, unless there is nothing else."""
    kept = []
    for file in files:
        content = _companion_content(file)
        if content is None:
            kept.append(file)
        else:
            logging.getLogger("turnwise").info("passed over %s: %s; name the file itself to read it", file, content)
    # files of other origins may have these names too: alone in a folder, they are what was meant
    return kept or files


def without_models(files: list[Path], folder: Path) -> list[Path]:
    """Leave out files inside saved models and unfinished runs of turnwise, anywhere below a folder."""
    holds_model = {f.parent for f in files if f.name in _MODEL_FILES}
    kept = []
    for file in files:
        inside = [parent for parent in file.parents if parent.is_relative_to(folder)]
        if holds_model.isdisjoint(inside):
            kept.append(file)
        else:
            logging.getLogger("turnwise").info("passed over %s: part of a model or of an unfinished run", file)
    return kept


def _companion_content(file: Path) -> str | None:
    name = file.name.lower().removesuffix(".gz")
    if name in _BESIDE_EXPORTED and (file.parent / _EXPORTED).exists():
        return _BESIDE_EXPORTED[name]
    return next((content for pattern, content in _COMPANIONS.items() if fnmatchcase(name, pattern)), None)
