from __future__ import annotations

import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer

pytest.importorskip("lancedb", reason="needs the extra store")

from turnwise.store import AddReport, ConversationStore


def test_basic(tmp_path, tiny_encoder: SentenceTransformer, conversations: Dataset) -> None:
    store = ConversationStore.open(tmp_path / "talks", tiny_encoder)
    assert store.add(conversations) == AddReport(added=5, messages=20)
    assert store.add(conversations) == AddReport(unchanged=5)
    hit = store.search_messages("i want to order a pizza")[0]
    assert (hit.conversation, hit.turn, hit.role) == ("talk-0", 2, "user")
    assert hit.score == pytest.approx(1, abs=1e-5)
    assert store.search_messages("pizza", mode="text")[0].turn == 2
    assert store.search_messages("i want to order a pizza", mode="hybrid")[0].turn == 2
    assert store.get("talk-0") == conversations[0]
    grown = {"id": "talk-3", "messages": [*conversations[3]["messages"], {"role": "assistant", "content": "bye"}]}
    assert store.add([grown]) == AddReport(grown=1, messages=1)
    assert store.get("talk-3") == grown
    assert store.search_conversations(conversations[1]["messages"])[0].conversation == "talk-1"
    print(store.similar_prefix(conversations[2]["messages"][:2])[0])
    print(store.next_replies(conversations[2]["messages"][:2])[0])
    assert store.delete(["talk-0", "nobody"]) == 1
    store.compact()
    print(store.stats())
    assert len(list(store.export())) == 4
    assert [h.role for h in store.search_messages("pizza", where="role = 'supervisor'")] == ["supervisor"] * 2
