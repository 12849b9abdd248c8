"""A log in several files that are given together is one log."""

import gzip
import json
from pathlib import Path

import pytest

from call_logs import LOGS
from turnlens import ConversationStore, read_conversations
from turnlens.errors import ConversationError

_LINES = {name: text for name, (file, text) in LOGS.items() if file.endswith(".jsonl")}


def _call(minute: int, *said: str, session: str | None = None, cost: float = 0.5, status: int = 200) -> str:
    roles = ["user", "assistant"] * len(said)
    history = [{"role": role, "content": text} for role, text in zip(roles, said[:-1])]
    response = {"choices": [{"message": {"role": "assistant", "content": said[-1]}}]}
    call = {"time": f"2026-01-01T23:{minute:02}:00Z", "cost": cost, "status_code": status, "session_id": session}
    return json.dumps({**call, "request": {"model": "m", "messages": history}, "response": response}) + "\n"


def _days(folder: Path, *texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    for day, text in enumerate(texts, start=1):
        (folder / f"day-{day}.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("text", _LINES.values(), ids=_LINES)
def test_logs_cut_into_files_are_read_whole(tmp_path: Path, text: str) -> None:
    lines = text.splitlines(keepends=True)
    assert len(lines) > 1
    cut = read_conversations(_days(tmp_path / "cut", *lines)).to_list()
    assert cut == read_conversations(_days(tmp_path / "whole", text)).to_list()


def test_numbers_of_all_files_are_added_up(tmp_path: Path) -> None:
    first = _call(1, "Hello", "Hi") + _call(50, "Where is it?", "There")
    goes_on = _call(55, "Where is it?", "There", "Why?", "So", cost=0.25)
    logs = _days(tmp_path / "logs", first, goes_on + _call(58, "Bye", "Bye"))
    talks = {talk["id"]: talk for talk in read_conversations(logs)}
    assert list(talks) == ["day-1-1", "day-1-2", "day-2-2"]
    assert [message["content"] for message in talks["day-1-2"]["messages"]] == ["Where is it?", "There", "Why?", "So"]
    assert talks["day-1-2"]["cost"] == pytest.approx(0.75)
    assert talks["day-1-2"]["calls"] == 2


def test_the_store_adds_up_when_a_folder_grows(tmp_path: Path, tiny_encoder_path: Path) -> None:
    logs = _days(tmp_path / "logs", _call(50, "Where is it?", "There", session="s"))
    store = ConversationStore.create(tmp_path / "store", logs, encoder=tiny_encoder_path)
    _days(logs, _call(50, "Where is it?", "There", session="s"), _call(59, "Why?", "So", session="s"))
    store.add(logs)
    (hit,) = store.search_conversations("Why?", limit=5)
    assert hit.labels["cost"] == pytest.approx(1.0)
    assert hit.turns == 4


def test_files_of_other_formats_stay_apart(tmp_path: Path) -> None:
    logs = _days(tmp_path / "logs", _call(1, "Hello", "Hi"), _call(2, "Hello", "Hi", "Bye", "Bye"))
    chat = {"id": "chat", "messages": [{"role": "user", "content": "Hello"}]}
    (logs / "day-1b.jsonl").write_text(json.dumps(chat) + "\n", encoding="utf-8")
    assert read_conversations(logs)["id"] == ["day-1-1", "chat"]


def test_bad_rows_are_named_by_their_file(tmp_path: Path) -> None:
    logs = _days(tmp_path / "logs", _call(1, "Hello", "Hi"), _call(2, "Why?", "So") + "{\n")
    with pytest.raises(ConversationError, match=r"day-2\.jsonl:2: malformed JSON"):
        read_conversations(logs)
    assert len(read_conversations(logs, on_error="skip")) == 2


def test_a_damaged_file_costs_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    logs = _days(tmp_path / "logs", _call(1, "Hello", "Hi"), _call(2, "Why?", "So"))
    whole = gzip.compress("".join(_call(3, str(n), str(n)) for n in range(2000)).encode())
    (logs / "day-1b.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    talks = read_conversations(logs, on_error="skip")
    assert {"day-1-1", "day-2-1"} <= set(talks["id"])
    assert "day-1b.jsonl.gz" in caplog.text
    assert "cut off" in caplog.text
