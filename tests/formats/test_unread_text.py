"""Text in a field that is not read does not go unnoticed."""

from pathlib import Path
from typing import Any

import pytest

from format_cases import read, write
from samples import SAMPLES, lines, write_slack_export
from turnlens.data.conversations import read_conversations

TEXT = "the server in room two does not start"


def unread(path: Path, caplog: pytest.LogCaptureFixture) -> list[str]:
    caplog.clear()
    read(path)
    return [message.split(": ", 1)[1] for message in caplog.messages if message.endswith("which is not read")]


def test_samples_hold_no_undeclared_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number, (_, name, content) in enumerate(SAMPLES):
        assert not unread(write(tmp_path / f"{number:03}" / name, content), caplog), name
    assert not unread(write_slack_export(tmp_path / "export"), caplog)


def _slack(**message: Any) -> list[dict[str, Any]]:
    return [{"type": "message", "user": "U1", "ts": "1700000000.1", "text": "", **message}]


UNREAD = [
    ("d.json", _slack(cards=[{"body": {"text": TEXT}}]), ["1 messages without text hold text in `cards.body.text`"]),
    ("d.json", _slack(cards=[{"body": TEXT}], text=TEXT), []),
    (
        "c.jsonl",
        lines(*({"messages": [{"role": "user", "content": "", "parts2": {"said": TEXT}}]} for _ in range(2))),
        [],  # a field that is not known becomes a label
    ),
    (
        "conversations.json",
        [{"uuid": "k", "chat_messages": [{"sender": "human", "text": text, "notes": TEXT} for text in ("", "", "a")]}],
        ["2 messages without text hold text in `notes`"],
    ),
    (
        "conversations.json",
        [
            {
                "uuid": "k",
                "chat_messages": [{"sender": "human", "text": text, "notes": TEXT} for text in ("", "ok")],
            }
        ],
        ["1 messages without text hold text in `notes`"],
    ),
]


def test_fields_that_hold_unread_text_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number, (name, content, expected) in enumerate(UNREAD):
        path = write(tmp_path / str(number) / name, content)
        assert unread(path, caplog) == [f"{problem}, which is not read" for problem in expected], content


def test_names_of_unread_fields_are_redacted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    read_conversations(write(tmp_path / "d.json", _slack(**{"ann@example.org": TEXT})), redact="emails")
    (told,) = [message for message in caplog.messages if message.endswith("which is not read")]
    assert "hold text in `[email]`" in told


def test_markup_makes_no_words(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    note = {"id": 1, "author_id": 2, "public": False, "created_at": "2026-01-01T10:00:00Z", "body": "Whoa!"}
    note["html_body"] = '<div class="pre styled comment" dir="auto">Whoa!<br></div>'
    (row,) = read(write(tmp_path / "t.json", {"comments": [{**note, "public": True, "body": "A quick test"}, note]}))
    assert [message["content"] for message in row["messages"]] == ["A quick test", ""]
    assert not caplog.messages
