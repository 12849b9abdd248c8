from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer

pytest.importorskip("lancedb", reason="needs the extra store")

from turnlens.store import ConversationStore


@pytest.fixture
def labelled() -> list[dict[str, Any]]:
    """Conversations with labels and times, of which some are only in part of them."""
    return [
        {
            "id": "refund",
            "messages": [
                {"role": "user", "content": "i want my money back", "intent": "refund", "time": "2024-03-01T12:00:00Z"},
                {"role": "agent", "content": "your order is cancelled", "time": "2024-03-01T12:00:30Z"},
            ],
            "domain": "shop",
            "tags": ["angry", "new"],
        },
        {
            "id": "it's lost",
            "messages": [
                {"role": "user", "content": "my card is lost", "intent": "lost card", "time": 1_706_000_000},
                {"role": "bot", "content": "is it lost", "sure": True},
                {"role": "user", "content": "yes it is lost", "sure": False},
            ],
            "domain": "bank",
        },
        {"id": "silent", "messages": [{"role": "user", "content": "i order a pizza 'now' and thanks", "stars": 5}]},
    ]


@pytest.fixture
def store(tmp_path: Path, tiny_encoder: SentenceTransformer, conversations: Dataset) -> ConversationStore:
    store = ConversationStore.open(tmp_path / "talks", encoder=tiny_encoder)
    store.add(conversations)
    return store


@pytest.fixture
def filled(tmp_path: Path, tiny_encoder: SentenceTransformer) -> Callable[..., ConversationStore]:
    def fill(conversations: Any, name: str = "filled", **settings: Any) -> ConversationStore:
        store = ConversationStore.open(tmp_path / name, encoder=tiny_encoder, **settings)
        store.add(conversations)
        return store

    return fill
