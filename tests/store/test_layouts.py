"""A store takes the messages that files may hold, and says at once what it cannot take."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import turnlens
from closeness import assert_same_vectors
from message_layouts import LAYOUTS, PLAIN, TEXTS, WRONG
from turnlens.errors import ConversationError
from turnlens.store import ConversationStore, StoreError


def test_messages_are_stored_as_read_from_files(filled, tmp_path: Path) -> None:
    row = {"id": "talk", "messages": LAYOUTS}
    before = json.dumps(row)
    stored = filled([row]).get("talk")["messages"]
    assert json.dumps(row) == before  # what is given stays as it is
    (tmp_path / "talk.jsonl").write_text(before)
    read = turnlens.read_conversations(tmp_path / "talk.jsonl")[0]["messages"]
    for ours, theirs in zip(stored, read, strict=True):
        theirs = {name: value for name, value in theirs.items() if value is not None}
        assert ours.keys() == theirs.keys()
        assert (ours["role"], ours["content"]) == (theirs["role"], theirs["content"])
    assert [message["content"] for message in stored] == TEXTS
    assert stored[1]["tool_calls"] == LAYOUTS[1]["tool_calls"]
    assert stored[3]["attachments"] == ["image_url: https://example.org/card.png"]


def test_searches_take_messages_of_all_layouts(store) -> None:
    for search in (store.search_conversations, partial(store.next_replies, speaker="assistant")):
        hits, expected = search(LAYOUTS), search(PLAIN)
        assert [hit.conversation for hit in hits] == [hit.conversation for hit in expected]


def test_encoders_take_messages_of_all_layouts(tiny_encoder) -> None:
    for encode in (tiny_encoder.encode_messages, tiny_encoder.encode_conversations):
        assert_same_vectors(encode([LAYOUTS, PLAIN]), encode([PLAIN, PLAIN]))


def test_an_unknown_message_layout_is_an_error(filled, tiny_encoder) -> None:
    store = filled([])
    for message, problem in WRONG:
        wrong = [PLAIN[0], message]
        with pytest.raises(ConversationError, match=f"row 0, message 1: .*{problem}"):
            store.add([{"id": "talk", "messages": wrong}])
        with pytest.raises(ConversationError, match=f"conversation 0, message 1: .*{problem}"):
            tiny_encoder.encode_conversations([wrong])


def test_parts_within_parts_have_an_end(filled) -> None:
    part: dict[str, Any] = {"type": "text", "text": "x"}
    for _ in range(400):
        part = {"type": "tool_result", "content": [part]}
    with pytest.raises(ConversationError, match=r"row 0, message 0: .* is nested too deeply"):
        filled([{"id": "talk", "messages": [{"role": "user", "content": [part]}]}])


def test_a_message_without_a_speaker_is_an_error(filled) -> None:
    with pytest.raises(ConversationError, match="row 0, message 0: expected a speaker's name under 'role'"):
        filled([{"id": "talk", "messages": [{"content": "hello"}]}])


def test_a_single_id_instead_of_a_list_is_refused(filled) -> None:
    store = filled([{"id": name, "messages": PLAIN[:1]} for name in ("1", "2", "12")])
    for delete in (store.delete, store.erase):
        with pytest.raises(TypeError, match=r"ids: expected a list, got the single '12': put it in a list"):
            delete("12")
    assert store.stats().conversations == 3
    assert store.delete(["12"]) == 1 and store.erase(["1"]) == 1
    assert [row["id"] for row in store.export()] == ["2"]


def test_searches_take_no_list_of_texts(store) -> None:
    with pytest.raises(TypeError, match=r"query: expected one text or a vector of 32 numbers, got \['a', 'b'\]"):
        store.search_messages(["a", "b"])
    for given in ("thanks", PLAIN[0], None):
        with pytest.raises(TypeError, match=r'messages: expected a list of \{"role", "content"\}, got'):
            store.next_replies(given)
    with pytest.raises(TypeError, match="id: expected a text, got 12"):
        store.get(12)
    with pytest.raises(ConversationError, match="message 0: expected"):
        store.search_conversations(["thanks"])


@pytest.mark.parametrize("before", [[], [{"id": "talk", "messages": PLAIN}]])
def test_a_row_without_messages_is_an_error(store, before) -> None:
    with pytest.raises(ConversationError, match=r"got None|row 1: expected a JSON object, found null"):
        store.add([*before, None])


def test_missing_data_leaves_no_store_behind(tmp_path: Path, tiny_encoder) -> None:
    with pytest.raises(ConversationError, match="there is no such file"):
        ConversationStore.create(tmp_path / "chats.jsonl", str(tmp_path / "shop"), encoder=tiny_encoder)
    assert not list(tmp_path.iterdir())


def test_the_folder_comes_first(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"path: expected the folder of the store, got \[.*the folder comes first"):
        ConversationStore.create([{"id": "talk", "messages": PLAIN}], "shop")  # type: ignore[arg-type]
    chats = tmp_path / "chats.jsonl"
    chats.write_text(json.dumps({"id": "talk", "messages": PLAIN}))
    for make in (lambda: ConversationStore.create(chats, "shop"), lambda: ConversationStore.open(chats)):
        with pytest.raises(StoreError, match=r"chats.jsonl is a file; .*the folder comes first"):
            make()
