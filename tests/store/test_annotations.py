"""Labels that people give to conversations of a store, which stay when the source is indexed again."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from datasets import Dataset
from openpyxl import Workbook

from turnlens.errors import ConversationError
from turnlens.store import AddReport, ConversationStore, StoreError
from turnlens.store.annotations import ANNOTATIONS_FILE

Rows = list[dict[str, Any]]
SHEET = [
    {"id": "talk-1", "turn": 0, "text": "book a flight please", "intent": " booking "},
    {"id": "talk-2", "turn": 0, "text": "cancel my card", "intent": ""},
    {"id": "talk-4", "turn": 2, "text": "i cancel the card", "intent": "lost card"},
]
ANNOTATED = {"talk-1": (0, "booking"), "talk-4": (2, "lost card")}


def as_csv(rows: Rows, path: Path, delimiter: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def as_sheet(rows: Rows, path: Path) -> Path:
    book = Workbook()
    for row in (list(rows[0]), *(list(row.values()) for row in rows)):
        book.active.append(row)
    book.save(path)
    return path


def as_parquet(rows: Rows, path: Path) -> Path:
    pd.DataFrame(rows).to_parquet(path)
    return path


def as_sample(rows: Rows, path: Path) -> Path:
    """Conversations as `turnlens export --sample` writes them, with a label that somebody has added."""
    talks = [
        {
            "id": row["id"],
            "messages": [{"role": "user", "content": row["text"]}] * 3,
            "sampled_as": ["request"],
            "request_turn": row["turn"],
            "intent": row["intent"] or None,
        }
        for row in rows
    ]
    path.write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    return path


def labels_in(store: ConversationStore, label: str = "intent") -> dict[str, tuple[int, str]]:
    """The turn that has a label, and the label of the conversation, where there is one."""
    found = {}
    for talk in store.export():
        turns = [turn for turn, message in enumerate(talk["messages"]) if label in message]
        if turns or label in talk:
            assert all(talk["messages"][turn][label] == talk[label] for turn in turns)
            found[talk["id"]] = (turns[0], talk[label])
    return found


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (as_csv, "tags.csv"),
        (lambda rows, path: as_csv(rows, path, ";", "utf-8-sig"), "tags.csv"),
        (lambda rows, path: as_csv(rows, path, "\t", "utf-16"), "tags.txt"),
        (as_sheet, "tags.xlsx"),
        (as_parquet, "tags.parquet"),
        (as_sample, "examples.jsonl"),
        (lambda rows, _: pd.DataFrame(rows), ""),
    ],
)
def test_labels_reach_conversations_and_messages(
    store, tmp_path, write: Callable[[Rows, Path], Any], name: str
) -> None:
    before = {talk["id"]: [message["content"] for message in talk["messages"]] for talk in store.export()}
    assert store.annotate(write(SHEET, tmp_path / name), labels=["intent"]) == 2
    assert labels_in(store) == ANNOTATED
    assert {talk["id"]: [message["content"] for message in talk["messages"]] for talk in store.export()} == before
    assert store.search_messages("card", where="turn = 2 and label.intent = 'lost card'")[0].conversation == "talk-4"
    assert len(store.search_conversations("card", where="label.intent = 'booking'")) == 1


def test_annotations_stay_when_conversations_are_added_again(store, conversations: Dataset) -> None:
    store.annotate(SHEET, labels=["intent"])
    assert store.add(conversations) == AddReport(unchanged=5)
    rows = conversations.to_list()
    rows[1]["messages"].append({"role": "user", "content": "one more thing"})
    rows[4]["city"] = "york"
    assert store.add(rows) == AddReport(grown=1, changed=1, unchanged=3, messages=1)
    assert labels_in(store) == ANNOTATED
    assert store.get("talk-4")["city"] == "york"


def test_nothing_is_embedded_again(store, tiny_encoder, monkeypatch) -> None:
    before = store.search_messages("my card is lost", limit=20)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("embedded a text")

    monkeypatch.setattr(tiny_encoder, "preprocess", refuse)
    store.annotate(SHEET, labels=["intent"])
    monkeypatch.undo()
    after = store.search_messages("my card is lost", limit=20)
    assert {(hit.conversation, hit.turn, hit.score) for hit in after} == {
        (hit.conversation, hit.turn, hit.score) for hit in before
    }


def test_later_annotations_add_to_earlier_ones(store) -> None:
    store.annotate(SHEET, labels=["intent"])
    again = [
        {"id": "talk-1", "turn": 0, "intent": "flight", "mood": "calm"},
        {"id": "talk-4", "turn": 2, "intent": " ", "mood": "angry"},
    ]
    store.annotate(again, labels=["intent", "mood"])
    assert labels_in(store) == {"talk-1": (0, "flight"), "talk-4": (2, "lost card")}
    assert labels_in(store, "mood") == {"talk-1": (0, "calm"), "talk-4": (2, "angry")}


def test_messages_with_different_labels_leave_the_conversation_without(store) -> None:
    rows = [{"id": "talk-0", "turn": 0, "act": "greet"}, {"id": "talk-0", "turn": 2, "act": "ask"}]
    store.annotate(rows, labels=["act"])
    talk = store.get("talk-0")
    assert "act" not in talk and [message.get("act") for message in talk["messages"]] == ["greet", None, "ask", None]
    store.annotate([*rows, {"id": "talk-0", "turn": None, "act": "order"}], labels=["act"])
    assert store.get("talk-0")["act"] == "order" and store.get("talk-0")["messages"][2]["act"] == "ask"


def test_ids_changed_by_a_spreadsheet_are_recognised(filled, tmp_path) -> None:
    said = [{"role": "user", "content": "hello"}]
    store = filled([{"id": id, "messages": said} for id in ("+4930", "4711")])
    assert store.annotate(as_csv([{"id": "'+4930", "kind": "'-1"}], tmp_path / "tags.csv"), labels=["kind"]) == 1
    assert store.get("+4930")["kind"] == "-1"
    assert store.annotate(pd.DataFrame({"conversation": [4711.0, None], "kind": ["b", None]}), labels=["kind"]) == 1
    assert store.get("4711")["kind"] == "b"


def test_labels_of_unknown_conversations_are_told_once(store, caplog) -> None:
    rows = [
        {"id": "nobody", "turn": 0, "intent": "a"},
        {"id": "no-one", "turn": 0, "intent": "a"},
        {"id": "talk-3", "turn": 7, "intent": "a"},
        {"id": "talk-2", "turn": 0, "intent": "b"},
    ]
    assert store.annotate(rows, labels=["intent"]) == 1
    (warning,) = caplog.messages
    assert "2 conversations (the first is 'nobody') and 1 messages (the first is turn 7 of 'talk-3')" in warning
    assert labels_in(store) == {"talk-2": (0, "b")}
    assert "no-one" not in (store.path / ANNOTATIONS_FILE).read_text()


@pytest.mark.parametrize(
    ("rows", "labels", "said"),
    [
        ([{"ticket": "talk-1", "intent": "a"}], ["intent"], "no column 'id'; found ticket, intent"),
        ([{"id": "talk-1", "Intent": "a"}], ["intent"], r"no column 'intent' \(did you mean 'Intent'\?\); found id, I"),
        (
            [{"id": "talk-1", "i": "a"}, {"id": "talk-1", "i": "b"}],
            ["i"],
            "'talk-1' has two values of 'i': 'a' and 'b'",
        ),
        ([{"id": "talk-1", "turn": "x", "i": "a"}], ["i"], "the turn is 'x'"),
        ([{"id": " ", "i": "a"}], ["i"], "no conversation id"),
        ([{"id": "talk-1", "time": "a"}], ["time"], "cannot be called 'time'"),
        ([{"id": "talk-1"}], [], "got none"),
    ],
)
def test_an_unusable_table_is_an_error_without_changes(
    store, tmp_path, rows: Rows, labels: list[str], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        store.annotate(as_csv(rows, tmp_path / "tags.csv"), labels=labels)
    assert not (store.path / ANNOTATIONS_FILE).exists()


def test_other_files_are_told(store, tmp_path) -> None:
    (tmp_path / "tags.vtt").write_text("WEBVTT\n")
    with pytest.raises(ConversationError, match="expected a table or chat JSONL"):
        store.annotate(tmp_path / "tags.vtt", labels=["intent"])
    (tmp_path / "tags.jsonl").write_text('{"id": "talk-1", "intent": "a"}\n{"id": \n')
    with pytest.raises(ConversationError, match=r"tags\.jsonl:2: malformed JSON"):
        store.annotate(tmp_path / "tags.jsonl", labels=["intent"])


@pytest.mark.parametrize("remove", [ConversationStore.delete, ConversationStore.erase])
def test_a_conversation_that_is_removed_leaves_no_annotation(store, conversations, remove) -> None:
    store.annotate(SHEET, labels=["intent"])
    (killed := store.path / f".{ANNOTATIONS_FILE}.writing-abc" / "new").mkdir(parents=True)
    (killed / ANNOTATIONS_FILE).write_text("talk-1")
    remove(store, ["talk-1"])
    assert not killed.exists()
    kept = (store.path / ANNOTATIONS_FILE).read_text()
    assert "talk-1" not in kept and "booking" not in kept and "lost card" in kept
    store.add(conversations)
    assert labels_in(store) == {"talk-4": (2, "lost card")}


def test_an_annotation_that_was_killed_is_completed(store, monkeypatch) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("turnlens.store.conversation_store.add_batch", die)
    with pytest.raises(KeyboardInterrupt):
        store.annotate(SHEET, labels=["intent"])
    monkeypatch.undo()
    assert labels_in(store) == {}
    assert store.annotate(SHEET, labels=["intent"]) == 2
    assert labels_in(store) == ANNOTATED


@pytest.mark.parametrize(
    "content", ["", '{"schema": 1', '{"schema": 1, "conversations": {"talk-1": {"turns": 3}}}', "[]"]
)
def test_a_damaged_file_is_an_error_with_advice(store, content: str) -> None:
    store.annotate(SHEET, labels=["intent"])
    (store.path / ANNOTATIONS_FILE).write_text(content)
    new = {"id": "new", "messages": [{"role": "user", "content": "hello"}]}
    for use in (
        lambda: store.add([new]),
        lambda: store.annotate(SHEET, labels=["intent"]),
        lambda: store.delete(["talk-0"]),
        lambda: store.erase(["talk-0"]),
    ):
        with pytest.raises(
            StoreError, match=r"annotations\.json is damaged: .*copy it back from a backup, or delete it"
        ):
            use()
    assert store.get("new") is None and len(store.search_messages("card", limit=50)) == 20  # as before
    (store.path / ANNOTATIONS_FILE).write_text('{"schema": 99}')
    with pytest.raises(StoreError, match="has schema 99"):
        store.add([new])


def sampled(talk: dict[str, Any], **labels: Any) -> dict[str, Any]:
    return {**talk, "sampled_as": ["request", "edge"], "request_turn": 0, **labels}


def test_labels_of_an_exported_sample_are_not_stored(store, conversations: Dataset) -> None:
    rows = conversations.to_list()
    rows[1]["group"] = "north"
    store.add(rows)
    sample = [
        sampled(rows[0], group=3, group_name="pizza"),
        sampled(rows[1], label_group=3, group_name="pizza"),  # the source's label has the name
        sampled(rows[1]),  # in no group
    ]
    for row in sample:
        assert store.add([row]) == AddReport(unchanged=1)


@pytest.mark.parametrize(
    "labels", [{"group": 3, "group_name": "vip"}, {"request_turn": 0}, {"sampled_as": "own words", "request_turn": 1}]
)
def test_labels_that_only_look_exported_stay(store, labels: dict[str, Any]) -> None:
    talk = {"id": "own", "messages": [{"role": "user", "content": "hello"}], **labels}
    store.add([talk])
    assert store.get("own") == talk


def test_losing_messages_is_told_once(store, conversations: Dataset, caplog) -> None:
    rows = [{**row, "messages": row["messages"][:1]} for row in conversations]
    report = store.add(rows)
    assert (report.changed, report.shortened, report.lost, report.messages) == (4, 4, 15, 0)
    (warning,) = caplog.messages
    assert "4 conversations were replaced by ones with fewer messages, 15 messages in all" in warning
    assert "store annotate" in warning
