"""Files that accompany the conversations of well-known releases and hold none themselves."""

from __future__ import annotations

import logging
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

_COMPANIONS = {"readme.txt": "a description", "license.txt": "a licence"}
# Beside the conversations.json of an assistant's export only: elsewhere, files of these names may hold anything.
_EXPORTED = "conversations.json"
_BESIDE_EXPORTED = {
    **dict.fromkeys(("user.json", "user_settings.json", "message_feedback.json"), "an account (ChatGPT)"),
    **dict.fromkeys(("model_comparisons.json", "shared_conversations.json"), "parts of conversations (ChatGPT)"),
    **dict.fromkeys(("users.json", "projects.json", "memories.json"), "an account (Claude)"),
}

# What shows that a folder holds a model or an unfinished run.
_MODEL_FILES = ("modules.json", "run.json")


def companions_in(folder: Path) -> list[Path]:
    """The files in a folder that are known to accompany conversations."""
    return [file for file in sorted(folder.iterdir()) if file.is_file() and _companion_content(file) is not None]


def without_companions(files: list[Path]) -> list[Path]:
    """Leave out the well-known companions of conversations, unless there is nothing else."""
    kept = []
    for file in files:
        content = _companion_content(file)
        if content is None:
            kept.append(file)
        else:
            logging.getLogger("turnlens").info("passed over %s: %s; name the file itself to read it", file, content)
    # files of other origins may have these names too: alone in a folder, they are what was meant
    return kept or files


def without_models(files: list[Path], folder: Path) -> list[Path]:
    """Leave out files inside saved models and unfinished runs of turnlens, anywhere below a folder."""
    holds_model = {f.parent for f in files if f.name in _MODEL_FILES}
    kept = []
    for file in files:
        inside = [parent for parent in file.parents if parent.is_relative_to(folder)]
        if holds_model.isdisjoint(inside):
            kept.append(file)
        else:
            logging.getLogger("turnlens").info("passed over %s: part of a model or of an unfinished run", file)
    return kept


def _companion_content(file: Path) -> str | None:
    name = file.name.lower().removesuffix(".gz")
    if name in _BESIDE_EXPORTED and (file.parent / _EXPORTED).exists():
        return _BESIDE_EXPORTED[name]
    return next((content for pattern, content in _known().items() if fnmatchcase(name, pattern)), None)


@cache
def _known() -> dict[str, str]:
    """The companions of all formats."""
    from turnlens.formats import FORMATS  # here, since formats are made from what this package has

    known = dict(_COMPANIONS)
    for format in FORMATS.values():
        known |= {pattern: f"{content} ({format.name})" for pattern, content in format.companions.items()}
    return known
