"""Schema-Guided Dialogue."""

import json
from pathlib import Path
from typing import Any

from format_cases import read, turns, write


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
