"""BiToD."""

from pathlib import Path
from typing import Any

import pytest

from format_cases import read, turns, write
from turnlens.errors import ConversationError


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


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        ({"Agent": "User", "Actions": []}, r"en_train\.json: row 2: .*missing: 'Text'.*'bitod' expects"),
        ({"Agent": "Wizard", "Actions": [], "Text": 7}, r"en_train\.json: row 2: message 1 has 7; expected a text"),
        ({"Agent": "Dog", "Text": "woof"}, r"en_train\.json: row 2: .*missing: 'Dog'"),
    ],
)
def test_bad_bitod_dialogues(tmp_path: Path, event: dict[str, Any], problem: str) -> None:
    good = bitod_dialogue(["HKMTR_en"], "to Central", "take the red line")
    bad = {**bitod_dialogue(["HKMTR_en"]), "Events": [event]}
    path = write(tmp_path / "en_train.json", {"good": good, "bad": bad})
    with pytest.raises(ConversationError, match=problem):
        read(path)
    assert [row["id"] for row in read(path, on_error="skip")] == ["good"]
