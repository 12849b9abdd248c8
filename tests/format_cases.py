"""Helpers of the tests of source formats: reading, writing, and dialogues that several files need."""

import json
from pathlib import Path
from typing import Any

from turnlens.data.conversations import iterate_conversations


def read(path: Path, format: str = "auto", on_error: Any = "raise") -> list[dict[str, Any]]:
    """The rows without nulls, read without the cache on disk, which would cost most of the time."""
    return [without_none(row) for row in iterate_conversations(path, format=format, on_error=on_error)]


def without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_none(item) for key, item in value.items() if item is not None}
    return [without_none(item) for item in value] if isinstance(value, list) else value


def turns(*contents: str, first: str = "user") -> list[dict[str, str]]:
    roles = ("user", "assistant") if first == "user" else ("assistant", "user")
    return [{"role": roles[i % 2], "content": text} for i, text in enumerate(contents)]


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    if not isinstance(content, bytes):
        content = (content if isinstance(content, str) else json.dumps(content, indent=1)).encode("utf-8")
    path.write_bytes(content)
    return path


def multiwoz_dialogue(*texts: str, **goal: Any) -> dict[str, Any]:
    log = [{"text": text, "metadata": {"hotel": {}} if i % 2 else {}} for i, text in enumerate(texts)]
    return {"goal": goal, "log": log}


def multiwoz_file() -> dict[str, Any]:
    one = multiwoz_dialogue(
        "a cheap inn please",
        "try the Mill",
        "thanks",
        taxi={},
        hotel={"info": {"price": "cheap"}},
        message=["find an inn"],
        topic={"hotel": True},
        messageLen=1,
    )
    two = multiwoz_dialogue(
        "an inn and a train", "sure", hotel={"info": {"area": "east"}}, train={"info": {"day": "?"}}
    )
    return {"SNG1.json": one, "MUL2.json": two}


MULTIWOZ_ROWS = [
    {"id": "SNG1.json", "messages": turns("a cheap inn please", "try the Mill", "thanks"), "domains": ["hotel"]},
    {"id": "MUL2.json", "messages": turns("an inn and a train", "sure"), "domains": ["hotel", "train"]},
]


def doc2dial_dialogue(identifier: str, *texts: str) -> dict[str, Any]:
    roles = ("user", "agent")
    said = [{"turn_id": i + 1, "role": roles[i % 2], "da": "x", "utterance": text} for i, text in enumerate(texts)]
    return {"dial_id": identifier, "turns": said}
