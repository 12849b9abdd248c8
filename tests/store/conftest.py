from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer

pytest.importorskip("lancedb", reason="needs the extra store")

from turnwise.store import ConversationStore, qdrant


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


@pytest.fixture(params=["folder", "qdrant"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Path | str]:
    """Where a store of some name is: in a folder, or in Qdrant's client, which can do without a server."""
    if request.param == "folder":
        return lambda name: tmp_path / name
    pytest.importorskip("qdrant_client", reason="needs the extra qdrant")
    qdrant._client.cache_clear()  # whose memory would be that of other tests
    return lambda name: f"qdrant://:memory:/{name}"


@pytest.fixture
def store(
    place: Callable[[str], Path | str], tiny_encoder: SentenceTransformer, conversations: Dataset
) -> ConversationStore:
    store = ConversationStore.open(place("talks"), encoder=tiny_encoder)
    store.add(conversations)
    return store


@pytest.fixture
def filled(place: Callable[[str], Path | str], tiny_encoder: SentenceTransformer) -> Callable[..., ConversationStore]:
    def fill(conversations: Any, name: str = "filled", **settings: Any) -> ConversationStore:
        store = ConversationStore.open(place(name), encoder=tiny_encoder, **settings)
        store.add(conversations)
        return store

    return fill
