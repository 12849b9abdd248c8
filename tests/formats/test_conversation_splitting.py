from pathlib import Path
from typing import Any

import pytest

from format_cases import without_none, write
from turnlens.data.conversations import read_conversations
from turnlens.errors import ConversationError

CHAT = """31/12/2023, 23:50 - Ann: one
31/12/2023, 23:58 - Ben: two
01/01/2024, 00:03 - Ann: three
01/01/2024, 09:00 - Ann: four
05/01/2024, 09:00 - Ben: five
"""


def split(path: Path, by: str) -> dict[str, list[str]]:
    rows: list[Any] = read_conversations(path, split_by=by).to_list()
    return {row["id"]: [message["content"] for message in row["messages"]] for row in rows}


def test_a_chat_by_days_and_at_pauses(tmp_path: Path) -> None:
    path = write(tmp_path / "chat.txt", CHAT)
    days = {"2023-12-31": ["one", "two"], "2024-01-01": ["three", "four"], "2024-01-05": ["five"]}
    assert split(path, "day") == {f"chat-1/{day}": said for day, said in days.items()}
    pauses = {"chat-1/1": ["one", "two", "three"], "chat-1/2": ["four"], "chat-1/3": ["five"]}
    assert split(path, "6h") == split(path, "60 min") == pauses
    assert split(path, "4d") == {"chat-1/1": ["one", "two", "three", "four"], "chat-1/2": ["five"]}
    assert len(read_conversations(path)) == 1


def test_splitting_keeps_labels_and_untimed_messages(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl",
        '{"id": "a", "topic": "t", "messages": [{"role": "u", "content": "one"}, '
        '{"role": "u", "content": "two", "time": "2024-05-31T10:00:00+02:00"}, {"role": "u", "content": "three"}, '
        '{"role": "u", "content": "four", "time": "2024-06-01T10:00:00"}]}',
    )
    assert split(path, "1h") == {"a/1": ["one", "two", "three"], "a/2": ["four"]}
    assert [row["topic"] for row in read_conversations(path, split_by="day")] == ["t", "t"]
    first = without_none(read_conversations(path, split_by="day").to_list()[0])
    assert first["id"] == "a/2024-05-31" and len(first["messages"]) == 3


def test_unsplittable_chats_and_bad_pauses_are_errors(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "session_id,speaker,text\na,u,x\n")
    with pytest.raises(ConversationError, match=r"t\.csv:2: no message has a time"):
        read_conversations(path, split_by="day")
    for by in ("week", "6", "", "-1h"):
        with pytest.raises(ValueError, match="expected 'day', or a pause such as '30m'"):
            read_conversations(path, split_by=by)
