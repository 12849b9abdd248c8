import pickle
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from torch import nn

import turnlens
from closeness import rounding
from turnlens.errors import ConversationError
from turnlens.store import (
    AddReport,
    ConversationStore,
    StoreError,
    StoreLockedError,
    batches,
    indexes,
    vector_index,
    vector_search,
)
from turnlens.store.state import writer_lock
from turnlens.store.store_encoder import StoreEncoder


def places(store: ConversationStore) -> dict[str, list[str]]:
    """The content of a store, by its table of messages, which must agree with that of conversations."""
    found = {row["id"]: [message["content"] for message in row["messages"]] for row in store.export()}
    stats = store.stats()
    assert (stats.conversations, stats.messages) == (len(found), sum(map(len, found.values())))
    return found


def texts(rows: Any) -> dict[str, list[str]]:
    return {row["id"]: [message["content"] for message in row["messages"]] for row in rows}


def test_a_searched_store_can_be_pickled(labelled_store) -> None:
    store = labelled_store
    store.read_only = True
    found = store.search_messages("money", mode="text")
    sent = pickle.loads(pickle.dumps(store))  # noqa: S301 what worker processes do
    assert found
    assert sent.search_messages("money", mode="text") == found
    assert sent.read_only


def test_a_conversation_without_times_of_messages_has_its_own(
    tmp_path: Path, tiny_encoder: SentenceTransformer
) -> None:
    said = [{"role": "user", "content": "pay me"}, {"role": "agent", "content": "no"}]
    rows = [
        {"id": "a", "created_at": "2026-09-02T10:00:00", "messages": said},
        {"id": "b", "date": "a monday", "time": "late", "messages": said},
        {"id": "c", "date": "2026-09-02", "messages": [said[0], {**said[1], "time": "2026-10-01"}]},
    ]
    store = ConversationStore.create(tmp_path / "store", rows, encoder=tiny_encoder)
    assert store.ids("first_time >= 2026-09-02 and last_time < 2026-10-01") == ["a"]
    assert [
        hit.turn for hit in store.search_messages("pay", where="time >= 2026-09-02") if hit.conversation != "c"
    ] == [0]
    assert sorted(store.export(), key=lambda row: row["id"]) == rows


def test_conversations_come_back_as_they_were_added(labelled_store, labelled) -> None:
    store = labelled_store
    assert [store.get(row["id"]) for row in labelled] == labelled
    assert store.get("nobody") is None
    assert sorted(row["id"] for row in store.export()) == ["it's lost", "refund", "silent"]
    hit = store.search_messages("i want my money back")[0]
    assert hit.time == datetime(2024, 3, 1, 12, tzinfo=UTC)
    of_conversation = {"domain": "shop", "tags": ["angry", "new"]}
    assert hit.labels == {**of_conversation, "intent": "refund", "time": "2024-03-01T12:00:00Z"}
    whole = store.search_conversations(labelled[0]["messages"])[0]
    assert (whole.conversation, whole.turns, whole.speakers) == ("refund", 2, ["user", "agent"])
    assert whole.labels == of_conversation
    assert whole.last_time == datetime(2024, 3, 1, 12, 0, 30, tzinfo=UTC)


def test_the_constructor_says_how_stores_are_opened() -> None:
    with pytest.raises(TypeError, match=r"ConversationStore\.open\('talks'\)"):
        ConversationStore("talks")


def test_a_store_is_made_of_conversations_once(tmp_path, conversations, tiny_encoder) -> None:
    store = ConversationStore.create(tmp_path / "new", conversations, encoder=tiny_encoder, pooling="mean")
    assert places(store) == texts(conversations)
    with pytest.raises(StoreError, match="is already a store: open it and add to it"):
        ConversationStore.create(tmp_path / "new", conversations, encoder=tiny_encoder)


def test_adding_again_embeds_only_what_is_new(store, conversations, tiny_encoder, texts_read_by) -> None:
    seen = texts_read_by(tiny_encoder)
    assert store.add(conversations) == AddReport(unchanged=5)
    assert not seen
    rows = conversations.to_list()
    rows[3]["messages"].append({"role": "assistant", "content": "bye"})
    rows[2]["messages"][1]["content"] = "is it gone"
    new = {"id": "new", "messages": [{"role": "user", "content": "one"}]}
    assert store.add([*rows, new]) == AddReport(added=1, grown=1, changed=1, unchanged=3, messages=3)
    assert set(seen) == {"bye", "is it gone", "one"}
    assert places(store) == texts([*rows, new])


@pytest.mark.parametrize("is_centred", [False, True])
@pytest.mark.parametrize("pooling", ["messages", "mean", "interlocutor"])
def test_a_grown_conversation_has_the_vector_of_the_whole(
    filled, conversations, own_encoder, pooling, is_centred
) -> None:
    whole = conversations[1]
    if is_centred:
        turnlens.centre(conversations, encoder=own_encoder)
    store = filled([{"id": "talk", "messages": whole["messages"][:2]}], pooling=pooling, encoder=own_encoder)
    store.add([{"id": "talk", "messages": whole["messages"]}])
    other = own_encoder.encode_conversations([conversations[4]["messages"]], pooling=pooling)[0]
    vector = own_encoder.encode_conversations([whole["messages"]], pooling=pooling)[0]
    cosine = vector @ other / np.linalg.norm(vector) / np.linalg.norm(other)
    assert store.search_conversations(conversations[4]["messages"])[0].score == pytest.approx(cosine, abs=1e-5)


def test_the_later_of_two_equal_ids_stays(filled, conversations) -> None:
    first, later = [{"id": "talk", "messages": conversations[row]["messages"]} for row in (0, 1)]
    store = filled([first, later, later])
    assert places(store) == texts([later])


def test_deleting(store, conversations) -> None:
    assert store.delete(["talk-0", "talk-2", "talk-0", "nobody"]) == 2
    assert places(store) == texts(row for row in conversations if row["id"] not in ("talk-0", "talk-2"))
    assert all(hit.conversation != "talk-2" for hit in store.search_messages("cancel my card", limit=20))
    assert store.add(conversations).added == 2


@pytest.mark.parametrize("step", range(8))
def test_a_writer_that_dies_leaves_what_was_confirmed(
    copied, tiny_encoder, conversations: Dataset, monkeypatch, step: int
) -> None:
    """Batches of a conversation each; the writer dies before its n-th change of a table or commit."""
    monkeypatch.setattr(batches, "_CONVERSATIONS_IN_BATCH", 1)
    confirmed = conversations.select(range(2)).to_list()
    store = copied("confirmed", lambda path: ConversationStore.open(path, encoder=tiny_encoder).add(confirmed))
    left = step

    class Dies:
        """A table, or a transaction, that counts its changes."""

        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> Any:
            nonlocal left
            if name in ("add", "delete", "commit"):
                left -= 1
                if left < 0:
                    raise KeyboardInterrupt
            return getattr(self._inner, name)

    def dying_batch(changes: Any, encoder: Any, records: Any) -> AddReport:
        tables = changes.tables
        changes.tables = type(tables)(tables.state, Dies(tables.messages), Dies(tables.conversations))
        report = batches.add_batch(Dies(changes), encoder, records)
        changes.tables = type(tables)(changes.tables.state, tables.messages, tables.conversations)
        return report

    monkeypatch.setattr("turnlens.store.conversation_store.add_batch", dying_batch)
    rows = conversations.to_list()
    rows[0]["messages"].append({"role": "user", "content": "more"})  # grows
    rows[1]["messages"][0]["content"] = "changed"
    seen: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        store.add(rows, progress=seen.append)
    done = rows[: len(seen)] + confirmed[len(seen) :]
    assert places(store) == texts(done)  # to readers at once, whatever lies beyond the commit
    monkeypatch.undo()
    store.add(rows)
    assert places(store) == texts(rows)


def test_readers_see_what_was_committed_since(store, tiny_encoder) -> None:
    reader = ConversationStore.open(store.path, encoder=tiny_encoder, read_only=True)
    assert reader.get("late") is None
    late = {"id": "late", "messages": [{"role": "user", "content": "i am late"}]}
    store.add([late])
    assert reader.get("late") == late
    assert reader.search_messages("late", mode="text")[0].conversation == "late"
    with pytest.raises(StoreError, match="read-only"):
        reader.add([late])


def test_only_one_writes(store, monkeypatch) -> None:
    monkeypatch.setattr("turnlens.store.conversation_store.LOCK_SECONDS", 0.0)
    with writer_lock(store.path, 0), pytest.raises(StoreLockedError, match="is being written by process"):
        store.delete(["talk-0"])
    assert store.delete(["talk-0"]) == 1


def test_a_store_refuses_another_encoder(store, tiny_encoder_path, tmp_path) -> None:
    other = SentenceTransformer(str(tiny_encoder_path), device="cpu")
    ConversationStore.open(store.path, encoder=tiny_encoder_path)  # the same one from its folder
    nn.init.normal_(other[0].auto_model.embeddings.word_embeddings.weight)
    with pytest.raises(StoreError, match=r"holds vectors of .*, not of .*reindex"):
        ConversationStore.open(store.path, encoder=other)


def test_a_centred_encoder_is_another_one(store, conversations, own_encoder) -> None:
    with pytest.raises(ValueError, match="reindex"):
        ConversationStore.open(store.path, encoder=turnlens.centre(conversations, encoder=own_encoder))


def test_the_encoder_of_the_store_is_the_default(store) -> None:
    opened = ConversationStore.open(store.path)
    hits, expected = (source.search_messages("i want to order a pizza") for source in (opened, store))
    assert [replace(hit, score=0) for hit in hits] == [replace(hit, score=0) for hit in expected]
    np.testing.assert_allclose([hit.score for hit in hits], [hit.score for hit in expected], atol=rounding())


@pytest.mark.slow
def test_a_trained_encoder_is_found_again(tmp_path, tiny_encoder_path, conversations) -> None:
    rows = turnlens.sample_conversations(12)
    settings = {"max_steps": 1, "batch_size": 4}
    encoder = turnlens.train(
        rows, method="dialogue-cse", settings=settings, encoder=str(tiny_encoder_path), output=tmp_path / "model"
    )
    ConversationStore.create(tmp_path / "talks", conversations, encoder=encoder)
    assert ConversationStore.open(tmp_path / "talks").search_messages("my card", limit=1)


def test_a_relative_encoder_path_is_stored_as_absolute(tmp_path, tiny_encoder_path, conversations, monkeypatch) -> None:
    monkeypatch.chdir(tiny_encoder_path.parent)
    ConversationStore.create(tmp_path / "talks", conversations, encoder=tiny_encoder_path.name)
    monkeypatch.chdir(tmp_path)
    store = ConversationStore.open("talks", read_only=True)
    assert store.search_messages("my card", limit=1)
    assert store.stats().encoder == str(tiny_encoder_path.resolve())


def test_a_moved_encoder_is_renamed_without_embedding(store, tiny_encoder_path, tmp_path: Path, monkeypatch) -> None:
    moved = shutil.copytree(tiny_encoder_path, tmp_path / "moved")
    before = store.search_messages("my card")
    with monkeypatch.context() as patch:
        patch.setattr(StoreEncoder, "messages", None)
        store.reindex(str(moved))
    assert store.stats().encoder == str(moved)
    assert ConversationStore.open(store.path).search_messages("my card")[0].text == before[0].text


def test_a_query_vector_needs_the_encoder_of_the_store(store, own_encoder, tiny_encoder_path) -> None:
    reader = ConversationStore.open(store.path, encoder=str(tiny_encoder_path), read_only=True)
    vector = reader.encoder().text_query("my card")
    by_vector, by_text = (
        {(hit.conversation, hit.turn): hit.score for hit in reader.search_messages(query, limit=100)}
        for query in (vector, "my card")
    )
    assert by_vector and by_vector == pytest.approx(by_text, abs=rounding())
    nn.init.normal_(own_encoder[0].auto_model.embeddings.word_embeddings.weight)
    store.reindex(own_encoder)
    with pytest.raises(StoreError, match="holds vectors of"):
        reader.search_messages(vector)


def test_a_missing_store_is_an_error(tmp_path: Path, tiny_encoder) -> None:
    with pytest.raises(StoreError, match="is not a store"):
        ConversationStore.open(tmp_path / "none", encoder=tiny_encoder, read_only=True)
    with pytest.raises(StoreError, match="is not a store"):
        ConversationStore.open(tmp_path / "none", encoder=tiny_encoder, create=False)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("x")
    with pytest.raises(StoreError, match="something other than a store"):
        ConversationStore.open(tmp_path / "other", encoder=tiny_encoder)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"messages": [{"role": "a", "content": "b"}]}, "row 0: expected an id"),
        ({"id": "x", "messages": []}, 'row 0: expected "messages"'),
        ({"id": "x", "messages": [{"role": "a"}]}, 'row 0, message 0: expected "content"'),
        ({"id": "x", "messages": [{"role": "a", "content": "b", "time": "now"}]}, "x, message 0: the label 'time'"),
    ],
)
def test_bad_rows(store, row, problem) -> None:
    with pytest.raises(ConversationError, match=problem):
        store.add([row])


def test_a_half_made_store_is_made_anew(filled, tiny_encoder) -> None:
    store = filled([])
    (store.path / "store.json").unlink()
    made = ConversationStore.open(store.path, encoder=tiny_encoder)
    assert (made.stats().conversations, list(made.export())) == (0, [])


def test_reindexing_moves_to_another_encoder(store, conversations, tiny_encoder_path) -> None:
    reader = ConversationStore.open(store.path, read_only=True)
    other = SentenceTransformer(str(tiny_encoder_path), device="cpu")
    nn.init.normal_(other[0].auto_model.embeddings.word_embeddings.weight)
    before = store.search_messages("my card")
    store.reindex(other, pooling="mean")
    assert store.stats().pooling == "mean"
    assert store.search_messages("my card") != before
    assert places(store) == texts(conversations)
    fresh = ConversationStore.open(store.path, encoder=other)
    assert fresh.search_messages("my card") == store.search_messages("my card")
    with pytest.raises(StoreError, match="holds vectors of"):
        reader.search_messages("my card")  # its encoder is loaded from the folder, whose weights are the former ones
    assert (store.path / "v1").is_dir()
    store.compact()
    assert not (store.path / "v1").is_dir()
    assert places(store) == texts(conversations)


@pytest.mark.slow
def test_reindexing_goes_on_after_a_kill(store, conversations, tiny_encoder_path, monkeypatch, texts_read_by) -> None:
    monkeypatch.setattr(batches, "_CONVERSATIONS_IN_BATCH", 1)
    other = turnlens.load_encoder(tiny_encoder_path, device="cpu")
    nn.init.normal_(other[0].auto_model.embeddings.word_embeddings.weight)

    def stop(count: int) -> None:
        nonlocal written
        written += 1
        if written == 3:
            raise KeyboardInterrupt

    written = 0
    before = store.search_messages("my card")
    with pytest.raises(KeyboardInterrupt):
        store.reindex(other, progress=stop)
    assert store.search_messages("my card") == before  # nothing is switched yet
    store.delete(["talk-0"])
    seen = texts_read_by(other)
    store.reindex(other)
    assert 0 < len(seen) < store.stats().messages  # the first ones were done
    assert places(store) == texts(row for row in conversations if row["id"] != "talk-0")


@pytest.mark.slow
def test_many_small_commits_are_tidied_up(tmp_path: Path, tiny_encoder, monkeypatch) -> None:
    monkeypatch.setattr(indexes, "_COMMITS_UNTIL_TIDY", 4)
    store = ConversationStore.open(tmp_path / "talks", encoder=tiny_encoder)
    for number in range(10):
        store.add([{"id": str(number), "messages": [{"role": "user", "content": f"order {number}"}]}])
    store.compact(retention=timedelta(0))
    assert store.stats().messages == 10
    assert len(store.search_messages("order", mode="text", limit=20)) == 10
    assert len(list((store.path / "v1" / "messages.lance" / "data").iterdir())) == 1


@pytest.mark.slow
def test_adding_many_writes_each_message_few_times(tmp_path: Path, tiny_encoder, monkeypatch) -> None:
    monkeypatch.setattr(batches, "_MESSAGES_IN_BATCH", 32)
    store = ConversationStore.open(tmp_path / "talks", encoder=tiny_encoder)
    data = store.path / "v1" / "messages.lance" / "data"
    store.add(turnlens.sample_conversations(100))
    written = sum(file.stat().st_size for file in data.iterdir())  # old versions are kept for a while
    store.compact(retention=timedelta(0))
    assert written < 6 * sum(file.stat().st_size for file in data.iterdir())


def test_texts_added_one_by_one_are_found_first(filled) -> None:
    """LanceDB scores what is not in the index by the words of what is: here those of the first message alone."""
    store = filled([])
    texts = ["my card is lost and i want it", "i want to go", "to paris i want", "my order", "a card", "it is lost"]
    for number, text in enumerate(texts):
        store.add([{"id": str(number), "messages": [{"role": "user", "content": text}]}])
    assert all(store.search_messages(text, mode="text")[0].text == text for text in texts)


def test_long_texts_are_indexed_at_once(filled) -> None:
    """A search for words reads all text outside the index, so that this is counted in bytes too, not only in rows."""
    store = filled([{"id": "many", "messages": [{"role": "user", "content": f"order {n}"} for n in range(40)]}])
    store.compact()
    for id, words, is_indexed in (("short", 1000, False), ("long", 250_000, True)):
        store.add([{"id": id, "messages": [{"role": "user", "content": f"{id} " + "again and " * words}]}])
        (index,) = store.tables().messages.inner.list_indices()
        assert (index.num_unindexed_rows == 0) == is_indexed, id
        assert store.search_messages(id, mode="text")[0].conversation == id


def test_an_index_is_built_where_it_pays(filled, tiny_encoder, monkeypatch) -> None:
    monkeypatch.setattr(indexes, "SMALLEST_INDEXED", 300)
    store = filled(turnlens.sample_conversations(50))
    count = store.stats().messages
    exact = {(hit.conversation, hit.turn): hit.score for hit in store.search_messages("i want a refund", limit=count)}
    assert len(exact) == count
    assert not store.stats().indexes
    store.compact()
    (facts,) = store.stats().indexes["vector"]
    assert facts.rows == count and facts.recall >= 0.98
    hits = store.search_messages("i want a refund")
    scores = [exact[hit.conversation, hit.turn] for hit in hits]
    np.testing.assert_allclose([hit.score for hit in hits], scores, atol=1e-5)
    best = sorted(exact.values(), reverse=True)
    np.testing.assert_allclose(scores, best[:10], atol=1e-5)
    everything = store.search_messages("i want a refund", limit=count)
    np.testing.assert_allclose([hit.score for hit in everything], best, atol=1e-5)

    late = {"id": "late", "messages": [{"role": "user", "content": "quite another thing"}]}
    store.add([late])
    assert store.search_messages("quite another thing")[0].conversation == "late"
    gone = hits[0].conversation
    store.delete([gone])
    assert gone not in {hit.conversation for hit in store.search_messages("i want a refund", limit=count)}
    users = [score for place, score in exact.items() if place[0] != gone and place[1] == 0]
    first = store.search_messages("i want a refund", where="turn = 0 and conversation != 'late'", limit=50)
    np.testing.assert_allclose([hit.score for hit in first], sorted(users, reverse=True)[:50], atol=1e-5)


@pytest.mark.slow
def test_indexes_grow_and_are_not_needed(filled, monkeypatch) -> None:
    monkeypatch.setattr(indexes, "SMALLEST_INDEXED", 50)
    rows = list(turnlens.sample_conversations(60))
    store = filled(rows[:40])

    def sizes() -> list[int]:
        return [facts.rows for facts in store.stats().indexes["vector"]]

    store.compact()
    first = store.stats().messages
    assert sizes() == [first]
    store.add(rows[40:50])
    store.compact()
    assert sizes() == [first, store.stats().messages - first]  # what is written stays
    store.add(rows[50:])
    store.compact()
    assert sum(sizes()) == store.stats().messages and len(sizes()) < 3

    expected = store.search_messages("my order is late", limit=20)
    files = list((store.path / "v1" / "vectors").iterdir())
    assert len(files) == 2 * len([facts for built in store.stats().indexes.values() for facts in built])
    files[0].unlink()
    files[1].write_bytes(files[1].read_bytes()[:1000])
    opened = ConversationStore.open(store.path, read_only=True, encoder=store.encoder())
    again = opened.search_messages("my order is late", limit=20)
    np.testing.assert_allclose([hit.score for hit in again], [hit.score for hit in expected], atol=1e-5)
    store.compact()
    assert sum(sizes()) == store.stats().messages


def test_a_kill_while_indexing_leaves_a_sound_store(filled, monkeypatch) -> None:
    monkeypatch.setattr(indexes, "SMALLEST_INDEXED", 50)
    store = filled(turnlens.sample_conversations(15))
    expected = store.search_messages("my order is late")
    for step in ("_write", "save_file", "_measured"):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(vector_index, step, Mock(side_effect=KeyboardInterrupt))
            store.compact()
        assert store.search_messages("my order is late") == expected
    store.compact()
    names = {facts.file for built in store.stats().indexes.values() for facts in built}
    assert {path.stem for path in (store.path / "v1" / "vectors").iterdir()} == names
    assert store.search_messages("my order is late")[0] == expected[0]


def test_many_unindexed_vectors_are_searched_by_lancedb(filled, monkeypatch) -> None:
    store = filled(turnlens.sample_conversations(20))
    expected = store.search_messages("my order is late", where="turn > 0")
    monkeypatch.setattr(vector_search, "_MOST_IN_MEMORY", 10)
    opened = ConversationStore.open(store.path, read_only=True, encoder=store.encoder())
    found = opened.search_messages("my order is late", where="turn > 0")
    np.testing.assert_allclose([hit.score for hit in found], [hit.score for hit in expected], atol=1e-5)


def test_labels_of_messages_override_those_of_conversations(filled) -> None:
    messages = [
        {"role": "user", "content": "one", "a": 1, "c=d": "e", "tags": ["x"]},
        {"role": "user", "content": "two"},
    ]
    labels = {"a": "no", "b": 7, "is": True, "tags": ["y", "z"], "system": "Be kind."}
    store = filled([{"id": "a", "messages": messages, **labels}])
    one, two = sorted(store.search_messages("one"), key=lambda hit: hit.turn)
    assert one.labels == {"a": 1, "c=d": "e", "tags": ["x"], "b": "7", "is": "true"}
    assert two.labels == {"a": "no", "b": "7", "is": "true", "tags": ["y", "z"]}
    assert store.get("a")["messages"] == messages


def test_a_store_keeps_its_tokenizer_and_says_so(filled) -> None:
    store = filled([{"id": "a", "messages": [{"role": "user", "content": "one"}]}], tokenizer="icu")
    assert ConversationStore.open(store.path, tokenizer="icu").stats().tokenizer == "icu"
    with pytest.raises(StoreError, match="has the tokenizer icu, not simple, and keeps it"):
        ConversationStore.open(store.path, tokenizer="simple")


def test_a_file_without_ids_replaces_no_other_conversation(filled, tmp_path) -> None:
    (tmp_path / "chats.jsonl").write_text('{"messages": [{"role": "user", "content": "one"}]}')
    store = filled(tmp_path / "chats.jsonl")
    (tmp_path / "chats.jsonl").write_text('{"messages": [{"role": "user", "content": "two"}]}')
    with pytest.raises(ValueError, match=r"chats\.jsonl: the store already has another conversation 'chats-1'"):
        store.add(tmp_path / "chats.jsonl")
    assert store.get("chats-1")["messages"][0]["content"] == "one"
