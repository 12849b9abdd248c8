"""MultiWOZ 2.0, 2.1 and 2.2."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from format_cases import MULTIWOZ_ROWS, multiwoz_file, read, turns, write
from turnlens.data.conversations import convert_conversations
from turnlens.errors import ConversationError


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


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ({"goal": {}, "log": [{"metadata": {}}]}, r"data\.json: row 2: .*missing: 'text'.*'multiwoz' expects"),
        ({"goal": {}, "log": [{"text": None}]}, r"data\.json: row 2: message 1 has null; expected a text"),
        ({"goal": {}}, r"data\.json: row 2: found the keys goal, id \(missing: 'log'\)"),
        (["hello"], r'data\.json: row 2: expected a JSON object, found \["hello"\]'),
    ],
)
def test_bad_multiwoz_dialogues(tmp_path: Path, bad: Any, problem: str) -> None:
    dialogues = multiwoz_file()
    path = write(tmp_path / "data.json", {"SNG1.json": dialogues["SNG1.json"], "bad": bad, **dialogues})
    with pytest.raises(ConversationError, match=problem):
        read(path)
    assert read(path, on_error="skip") == MULTIWOZ_ROWS
