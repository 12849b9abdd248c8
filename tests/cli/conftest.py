from pathlib import Path

import pytest
from datasets import config

import turnlens


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    path = tmp_path / "chats.jsonl"
    turnlens.sample_conversations(30).to_json(str(path))
    return path
