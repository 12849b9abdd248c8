"""MetaLWOZ."""

import json
from pathlib import Path
from typing import Any

import pytest

from format_cases import read, turns, write
from turnlens.errors import ConversationError


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


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (metalwoz_line("2", ["Hello", None]), r"SKI\.txt:2: message 2 has null; expected a text"),
        (metalwoz_line("2", "Hello"), r"SKI\.txt:2: found str as 'turns'"),
        ('{"id": "2", "domain": "SKI"}\n', r"SKI\.txt:2: .*missing: 'turns'.*'metalwoz' expects"),
        ('{"id": "2"\n', r"SKI\.txt:2: malformed JSON"),
    ],
)
def test_bad_metalwoz_lines(tmp_path: Path, bad: str, problem: str) -> None:
    path = write(tmp_path / "SKI.txt", metalwoz_line("1", ["Hello", "hi"]) + bad)
    with pytest.raises(ConversationError, match=problem):
        read(path)
    assert [row["id"] for row in read(path, on_error="skip")] == ["1"]
