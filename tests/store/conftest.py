"""Stores that are built once in a run; each test gets a copy of its own."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from turnlens.encoders.conversation_encoder import ConversationEncoder
from turnlens.store import ConversationStore

LABELLED = [
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
def labelled() -> list[dict[str, Any]]:
    """Conversations with labels and times, of which some are only in part of them."""
    return LABELLED


@pytest.fixture(scope="session")
def tiny_encoder(untouched_tiny_encoder: ConversationEncoder) -> ConversationEncoder:
    """Shared by all tests of stores; a test that changes an encoder takes `own_encoder`."""
    return untouched_tiny_encoder


@pytest.fixture
def own_encoder(untouched_tiny_encoder: ConversationEncoder) -> ConversationEncoder:
    return untouched_tiny_encoder.clone()


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of stores that were built, by name."""
    return {}


@pytest.fixture
def copied(
    built: dict[str, Path], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, tiny_encoder: ConversationEncoder
) -> Callable[[str, Callable[[Path], Any]], ConversationStore]:
    """Copies a store, which the first test that asks for it builds."""

    def copy(name: str, build: Callable[[Path], Any]) -> ConversationStore:
        if name not in built:
            folder = tmp_path_factory.mktemp("built") / name
            build(folder)
            built[name] = folder
        return ConversationStore.open(shutil.copytree(built[name], tmp_path / name), encoder=tiny_encoder)

    return copy


@pytest.fixture
def store(copied: Callable[..., ConversationStore], tiny_encoder: Any, conversations: Dataset) -> ConversationStore:
    return copied("talks", lambda path: ConversationStore.open(path, encoder=tiny_encoder).add(conversations))


@pytest.fixture
def labelled_store(copied: Callable[..., ConversationStore], tiny_encoder: Any) -> ConversationStore:
    """A store of `labelled`."""
    return copied("labelled", lambda path: ConversationStore.open(path, encoder=tiny_encoder).add(LABELLED))


@pytest.fixture
def filled(tmp_path: Path, tiny_encoder: ConversationEncoder) -> Callable[..., ConversationStore]:
    def fill(conversations: Any, name: str = "filled", **settings: Any) -> ConversationStore:
        store = ConversationStore.open(tmp_path / name, encoder=settings.pop("encoder", tiny_encoder), **settings)
        store.add(conversations)
        return store

    return fill
