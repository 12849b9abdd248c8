from __future__ import annotations

from pathlib import Path

import pytest

import turnwise


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder of three files, with two shards of ten conversations in each, the last one smaller."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    conversations = turnwise.sample_conversations(48)
    for number in range(3):
        conversations.select(range(16 * number, 16 * (number + 1))).to_json(str(folder / f"day-{number}.jsonl"))
    return folder
