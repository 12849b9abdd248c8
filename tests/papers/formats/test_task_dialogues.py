"""Dialogues about tasks: SGD, MultiWOZ, BiToD, Doc2Dial, MetaLWOZ, Taskmaster and self-dialogues."""

import csv
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from format_cases import MULTIWOZ_ROWS, doc2dial_dialogue, multiwoz_file, read, turns, write
from turnlens.data.conversations import convert_conversations
from turnlens.errors import ConversationError


def sgd_turn(speaker: str, utterance: str, *intents: tuple[str, str]) -> dict[str, Any]:
    frames = [{"service": service, "slots": [], "state": {"active_intent": intent}} for service, intent in intents]
    return {"speaker": speaker, "utterance": utterance, "frames": frames or [{"service": "Boats_1", "slots": []}]}


def test_sgd(tmp_path: Path) -> None:
    dialogue = {
        "dialogue_id": "1_00000",
        "services": ["Boats_1", "Docks_2"],
        "turns": [
            sgd_turn("USER", "rent me a boat", ("Boats_1", "RentBoat")),
            sgd_turn("SYSTEM", "done"),
            sgd_turn("USER", "and a dock", ("Boats_1", "RentBoat"), ("Docks_2", "FindDock")),
            sgd_turn("SYSTEM", "found one"),
            sgd_turn("USER", "thanks", ("Docks_2", "NONE")),
        ],
    }
    messages: list[dict[str, str]] = turns("rent me a boat", "done", "and a dock", "found one", "thanks")
    messages[0]["intent"] = "Boats_1:RentBoat"
    expected = {"id": "1_00000", "messages": messages, "domains": ["Boats_1", "Docks_2"]}
    assert read(write(tmp_path / "dialogues_001.json", json.dumps([dialogue], indent=1))) == [expected]
    in_split = write(tmp_path / "train" / "dialogues_001.json", json.dumps([dialogue]))
    assert read(in_split) == [{**expected, "id": "train-1_00000"}]


def test_multiwoz(tmp_path: Path) -> None:
    path = write(tmp_path / "data.json", multiwoz_file())
    assert read(path) == read(path, "multiwoz") == MULTIWOZ_ROWS
    with gzip.open(tmp_path / "data.json.gz", "wt", encoding="utf-8") as file:
        json.dump(multiwoz_file(), file)
    assert read(tmp_path / "data.json.gz") == MULTIWOZ_ROWS


def test_official_splits(tmp_path: Path) -> None:
    folder, out = tmp_path / "multiwoz", tmp_path / "out"
    path = write(folder / "data.json", {**multiwoz_file(), "MUL3.json": multiwoz_file()["SNG1.json"]})
    assert "split" not in read(path)[0]
    write(folder / "valListFile.txt", "MUL2.json\n")
    write(folder / "testListFile.json", "MUL3.json\r\n\n")
    assert {row["id"]: row["split"] for row in read(folder)} == {
        "SNG1.json": "train",
        "MUL2.json": "dev",
        "MUL3.json": "test",
    }
    assert convert_conversations(folder, output=out / "test.jsonl", split="test") == 1
    assert [row["id"] for row in read(out / "test.jsonl")] == ["MUL3.json"]
    with pytest.raises(ValueError, match="no conversation has the label 'split' with the value 'validation'"):
        convert_conversations(path, output=out / "none.jsonl", split="validation")
    assert not (out / "none.jsonl").exists()


def test_multiwoz_2_2_is_read_like_sgd(tmp_path: Path) -> None:
    state = {"active_intent": "find_hotel", "requested_slots": [], "slot_values": {}}
    dialogue = {
        "dialogue_id": "SNG1.json",
        "services": ["hotel", "taxi"],
        "turns": [
            {
                "turn_id": "0",
                "speaker": "USER",
                "utterance": "an inn",
                "frames": [
                    {"service": "hotel", "slots": [], "actions": [], "state": state},
                    {"service": "taxi", "slots": [], "actions": [], "state": {**state, "active_intent": "NONE"}},
                ],
            },
            {"turn_id": "1", "speaker": "SYSTEM", "utterance": "the Mill", "frames": []},
        ],
    }
    path = write(tmp_path / "dialogues_001.json", [dialogue])
    messages: list[dict[str, str]] = turns("an inn", "the Mill")
    messages[0]["intent"] = "hotel:find_hotel"
    expected = [{"id": "SNG1.json", "messages": messages, "domains": ["hotel", "taxi"]}]
    assert [read(path, format) for format in ("auto", "sgd", "multiwoz")] == [expected] * 3


def bitod_dialogue(tasks: list[str], *texts: str) -> dict[str, Any]:
    events: list[dict[str, Any]] = []
    for i, text in enumerate(texts):
        if i % 2:
            events.append({"Agent": "Wizard", "Actions": "query", "API": tasks[0], "Constraints": [{"x": "y"}]})
            events.append({"Agent": "KnowledgeBase", "Item": {"name": "Mill"}, "TotalItems": 1, "Topic": tasks[0]})
        actions = [{"act": "inform", "slot": "", "relation": "", "value": []}]
        events.append({"Agent": "Wizard" if i % 2 else "User", "Actions": actions, "Text": text})
    scenario = {"UserTask": "t", "WizardCapabilities": [{"Task": task} for task in tasks], "User_Goal": {}}
    return {"Dialogue_id": "d", "Scenario": scenario, "Events": events}


def test_bitod(tmp_path: Path) -> None:
    tasks = ["hotels_en_US_search", "hotels_en_US_booking", "HKMTR_en"]
    english = {
        "1": bitod_dialogue(tasks, "a room", "the Mill?", "fine"),
        "2": bitod_dialogue(["weathers_en_US_search"], "rain?"),
    }
    assert read(write(tmp_path / "en_train.json", english)) == [
        {"id": "1", "messages": turns("a room", "the Mill?", "fine"), "domains": ["hotels", "HKMTR"]},
        {"id": "2", "messages": turns("rain?"), "domains": ["weathers"]},
    ]
    chinese = {"3": bitod_dialogue(["餐馆查询", "餐馆预订", "香港地铁"], "找一家餐馆", "好的")}
    assert read(write(tmp_path / "zh_train.json", chinese)) == [
        {"id": "3", "messages": turns("找一家餐馆", "好的"), "domains": ["restaurants", "HKMTR"]}
    ]


def test_doc2dial(tmp_path: Path) -> None:
    first, second, third = (doc2dial_dialogue(name, f"{name}?", "yes") for name in "abc")
    by_document = {"dmv": {"Plates#1": [first, second], "Plates#2": []}, "ssa": {"Card#1": [third]}}
    expected = [
        {"id": name, "messages": turns(f"{name}?", "yes"), "domain": domain}
        for name, domain in [("a", "dmv"), ("b", "dmv"), ("c", "ssa")]
    ]
    path = write(tmp_path / "doc2dial_dial_train.json", {"dial_data": by_document})
    assert read(path) == read(path, "doc2dial") == expected
    without_documents = {"dial_data": {"dmv": [first, second], "ssa": [third]}}
    assert read(write(tmp_path / "multidoc2dial_dial_train.json", without_documents)) == expected


def test_other_files_of_doc2dial_are_errors(tmp_path: Path) -> None:
    documents = write(tmp_path / "doc.json", {"doc_data": {"dmv": {"d": {"doc_text": "plates"}}}})
    with pytest.raises(ConversationError, match=r"doc\.json: found the key 'doc_data'; expected .*dial_data"):
        read(documents, "doc2dial")
    array = write(tmp_path / "array.json", [doc2dial_dialogue("good", "a?", "b")])
    with pytest.raises(ConversationError, match=r"array\.json: found no object of dialogues; expected .*dial_data"):
        read(array, "doc2dial")


def metalwoz_line(identifier: str, said: Any) -> str:
    ids = {"id": identifier, "user_id": "u", "bot_id": "b", "domain": "SKI", "task_id": "t1"}
    return json.dumps({**ids, "turns": said}) + "\n"


def test_metalwoz(tmp_path: Path) -> None:
    path = write(
        tmp_path / "SKI.txt", metalwoz_line("1", ["Hello", "is there snow?", "yes"]) + metalwoz_line("2", ["Hi"])
    )
    expected = [
        {"id": "1", "messages": turns("Hello", "is there snow?", "yes", first="assistant")},
        {"id": "2", "messages": turns("Hi", first="assistant")},
    ]
    assert read(path) == [{**row, "domain": "SKI", "task_id": "t1"} for row in expected]


def test_taskmaster(tmp_path: Path) -> None:
    conversation = {
        "conversation_id": "dlg-1",
        "vertical": "Tea",
        "scenario": "s",
        "instructions": None,
        "utterances": [
            {"index": 1, "speaker": "ASSISTANT", "text": "which?", "segments": []},
            {"index": 0, "speaker": "USER", "text": "tea please", "segments": []},
        ],
    }
    expected = {"id": "dlg-1", "messages": turns("tea please", "which?"), "topic": "Tea"}
    assert read(write(tmp_path / "data_00.json", json.dumps([conversation]))) == [expected]


def test_self_dialogue(tmp_path: Path) -> None:
    path = tmp_path / "board_games12.csv"
    # as in the release, the columns are sorted as text
    numbers = sorted(range(1, 11), key=str)
    header = ["HITId", "AssignmentId", *(f"Answer.sentence{number}" for number in numbers)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(header)
        writer.writerow(["h", "A1", *(f"sentence  {number}" if number < 10 else " " for number in numbers)])
    assert read(path) == [
        {"id": "A1", "topic": "board_games", "messages": turns(*(f"sentence {i}" for i in range(1, 10)))}
    ]


GOOD_WOZ, GOOD_BITOD = multiwoz_file()["SNG1.json"], bitod_dialogue(["HKMTR_en"], "to Central", "take the red line")
BAD_BITOD = bitod_dialogue(["HKMTR_en"])
GOOD_DOC, BAD_TURNS = doc2dial_dialogue("good", "a?", "b"), [{"role": "user", "utterance": "a?"}, {"role": "agent"}]
BAD_DOC = {"dmv": {"d": [GOOD_DOC, {"dial_id": "bad", "turns": BAD_TURNS}, "text"]}}
# name of the file, content, problem of its second row
BAD: list[tuple[str, Any, str]] = [
    *(
        ("data.json", {"good": GOOD_WOZ, "bad": bad}, problem)
        for bad, problem in (
            ({"goal": {}, "log": [{"metadata": {}}]}, ": row 2: .*missing: 'text'.*'multiwoz' expects"),
            ({"goal": {}, "log": [{"text": None}]}, ": row 2: message 1 has null; expected a text"),
            ({"goal": {}}, r": row 2: found the keys goal, id \(missing: 'log'\)"),
            (["hello"], r': row 2: expected a JSON object, found \["hello"\]'),
        )
    ),
    *(
        ("en_train.json", {"good": GOOD_BITOD, "bad": {**BAD_BITOD, "Events": [event]}}, problem)
        for event, problem in (
            ({"Agent": "User", "Actions": []}, ": row 2: .*missing: 'Text'.*'bitod' expects"),
            ({"Agent": "Wizard", "Actions": [], "Text": 7}, ": row 2: message 1 has 7; expected a text"),
            ({"Agent": "Dog", "Text": "woof"}, ": row 2: .*missing: 'Dog'"),
        )
    ),
    ("dial.json", {"dial_data": BAD_DOC}, ": row 2: .*missing: 'utterance'.*'doc2dial' expects"),
    *(
        ("SKI.txt", metalwoz_line("good", ["Hello", "hi"]) + bad, problem)
        for bad, problem in (
            (metalwoz_line("2", ["Hello", None]), ":2: message 2 has null; expected a text"),
            (metalwoz_line("2", "Hello"), ":2: found str as 'turns'"),
            ('{"id": "2", "domain": "SKI"}\n', ":2: .*missing: 'turns'.*'metalwoz' expects"),
            ('{"id": "2"\n', ":2: malformed JSON"),
        )
    ),
]


def test_bad_dialogues_are_told_or_skipped(tmp_path: Path) -> None:
    for number, (name, content, problem) in enumerate(BAD):
        path = write(tmp_path / str(number) / name, content)
        with pytest.raises(ConversationError, match=re.escape(name) + problem):
            read(path)
        assert [row["id"] for row in read(path, on_error="skip")] == ["good"], problem
