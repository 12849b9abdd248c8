"""Taskmaster."""

import json
from pathlib import Path

from format_cases import read, turns, write


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
