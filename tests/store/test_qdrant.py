"""What is different of stores on Qdrant; what is alike, the other tests try on both."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("qdrant_client", reason="needs the extra qdrant")

from turnwise.store import ConversationStore, StoreError, adding, qdrant_table
from turnwise.store.words import words_of

from .cases import on_qdrant
from .test_store import places, texts

pytestmark = on_qdrant


def test_texts_are_found_by_whole_words_and_pairs_of_characters(store, filled) -> None:
    found = store.search_messages("card lost", mode="text", limit=20)
    assert found[0].text == "my card is lost"
    assert {hit.text for hit in found} == {"cancel my card", "is it lost", "my card is lost", "i cancel the card"}
    assert not store.search_messages("cards", mode="text") and not store.search_messages("!?", mode="text")
    fused = store.search_messages("my card is lost", mode="hybrid", where="role = 'user'")
    assert fused and {hit.role for hit in fused} == {"user"}
    assert words_of("Call 北京机票 now") == ["call", "北京", "京机", "机票", "now"]
    talk = [{"role": "user", "content": "我想订一张去北京的机票"}, {"role": "agent", "content": "好的，什么时候出发"}]
    chinese = filled([{"id": "zh", "messages": talk}], name="zh")
    assert [hit.turn for hit in chinese.search_messages("北京机票", mode="text")] == [0]


@pytest.mark.parametrize("step", range(12))
def test_a_writer_that_dies_leaves_nothing_twice_or_in_part(store, conversations, monkeypatch, step: int) -> None:
    """It dies before its n-th change of a collection; the same call completes the store."""
    monkeypatch.setattr(adding, "_CONVERSATIONS_IN_BATCH", 1)
    rows = conversations.to_list()
    rows[0]["messages"].append({"role": "user", "content": "more"})  # grows
    rows[1]["messages"] = rows[1]["messages"][:2]  # shrinks
    rows.append({"id": "new", "messages": [{"role": "user", "content": text} for text in ("one", "two")]})
    left = step

    def dying(name: str):
        original = getattr(qdrant_table.QdrantTable, name)

        def change(self, *given):
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
            original(self, *given)

        return change

    for name in ("add", "delete"):
        monkeypatch.setattr(qdrant_table.QdrantTable, name, dying(name))
    try:
        store.add(rows)
    except KeyboardInterrupt:
        assert all(row["messages"] in ([*given(conversations, row)], [*given(rows, row)]) for row in store.export())
    monkeypatch.undo()
    rows[-1]["messages"].pop()  # fewer than the dead one may have written
    store.add(rows)
    assert places(store) == texts(rows)


def given(rows, row) -> list:
    return next((other["messages"] for other in rows if other["id"] == row["id"]), [])


def test_two_stores_and_something_else_on_one_server(filled, conversations, tiny_encoder) -> None:
    one, other = filled(conversations, "one"), filled(conversations.select([0]), "other")
    assert (one.stats().conversations, other.stats().conversations) == (5, 1)
    with pytest.raises(StoreError, match="one-conversations holds something else"):
        ConversationStore.open("qdrant://:memory:/one-conversations", encoder=tiny_encoder)


def test_what_qdrant_does_not_do(store, tiny_encoder, place) -> None:
    store.compact()
    for mistake, problem in (
        (lambda: store.compact(index="flat"), "builds its indexes itself"),
        (lambda: store.reindex(tiny_encoder, pooling="mean"), "another collection"),
        (lambda: store.search_messages("card", where="role < 'x'"), "texts are compared"),
        (lambda: ConversationStore.open(place("ngram"), encoder=tiny_encoder, tokenizer="ngram"), "whole words"),
        (lambda: ConversationStore.open("qdrant://host", encoder=tiny_encoder), "expected a folder, or qdrant://"),
        (lambda: ConversationStore.open("redis://host/x", encoder=tiny_encoder), "expected a folder, or qdrant://"),
    ):
        with pytest.raises(StoreError, match=problem):
            mistake()
    assert not isinstance(store.path, Path)
