"""Conversations and chat files that several test files need."""

import json
from pathlib import Path
from typing import Any


def chat(*contents: str, **labels: Any) -> dict[str, Any]:
    """A conversation of alternating roles."""
    messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(contents)]
    return {**labels, "messages": messages}


def write_jsonl(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
