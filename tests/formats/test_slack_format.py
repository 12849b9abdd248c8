import os
from pathlib import Path

import pytest

from format_cases import read, write
from samples import HELLO, SHALOM, SLACK_DAY, write_slack_export
from turnlens.errors import ConversationError


def said(folder: Path) -> dict[str, list[tuple[str, str]]]:
    return {row["id"]: [(m["role"], m["content"]) for m in row["messages"]] for row in read(folder)}


def test_threads_span_days_and_other_messages_are_daily(tmp_path: Path) -> None:
    export = write_slack_export(tmp_path / "export")
    expected = {
        "general/2023-11-14": [("Änn", ""), ("Änn", "Who? @بن & you 🙂")],
        "general/1700000002.000100": [("Änn", SHALOM), ("بن", HELLO)],
        "general/2023-11-15": [("robot", "built 📦")],
    }
    assert said(export) == said(export / "general") == said(Path(f"{export}/*/*.json")) == expected
    first, thread, _ = read(export)
    assert first["messages"][0]["notice"] == "@Änn has joined"
    assert first["channel"] == "general"
    assert thread["messages"][0] == {
        "role": "Änn",
        "content": SHALOM,
        "time": "2023-11-14T22:13:22.000100+00:00",
        "attachments": ["file: a.pdf"],
        "reactions": ["tada 2"],
    }


def test_other_names_are_read_anew(tmp_path: Path) -> None:
    export = write_slack_export(tmp_path / "export")
    assert "Änn" in {message["role"] for row in read(export) for message in row["messages"]}
    users = write(export / "users.json", [{"id": "U1", "name": "anna"}])
    os.utime(users, (1, 1))
    assert "anna" in {message["role"] for row in read(export) for message in row["messages"]}


def test_without_names_of_members_their_ids_are_read(tmp_path: Path) -> None:
    export = write_slack_export(tmp_path / "export")
    write(export / "users.json", "null")
    assert "U1" in {message["role"] for row in read(export) for message in row["messages"]}


def test_the_folder_in_another_format_is_its_files(tmp_path: Path) -> None:
    with pytest.raises(ConversationError, match=r"\.json: row 1: "):
        read(write_slack_export(tmp_path / "export"), "chat")


def test_a_day_alone(tmp_path: Path) -> None:
    export = write_slack_export(tmp_path / "export")
    rows = read(export / "general" / "2023-11-14.json")
    assert [(row["id"], row["messages"][-1]["role"]) for row in rows] == [
        ("general/2023-11-14", "Änn"),
        ("general/1700000002.000100", "Änn"),
    ]


def test_bad_messages_and_damaged_days(tmp_path: Path) -> None:
    export = write_slack_export(tmp_path / "export")
    write(export / "general" / "2023-11-16.json", [{"type": "message", "text": "no time"}, SLACK_DAY[1]])
    with pytest.raises(ConversationError, match=r"2023-11-16\.json: found a message without a time in 'ts'"):
        read(export)
    write(export / "general" / "2023-11-17.json", "[{")
    assert len(read(export, on_error="skip")) == 4


def test_files_called_users_elsewhere_are_not_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "users.json", [{"messages": [{"role": "user", "content": "hello"}]}])
    assert len(read(tmp_path)) == 1
