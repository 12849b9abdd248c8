"""Discord channels."""

from __future__ import annotations

from pathlib import Path

import pytest

from format_cases import read, write
from samples import DISCORD, HELLO, SALAM
from turnlens.errors import ConversationError


def test_discord(tmp_path: Path) -> None:
    time = "2024-05-01T10:00:00+02:00"
    ann, ben = {"nickname": "ann 🌸", "time": time}, {"nickname": "ben 🌸", "time": time}
    assert read(write(tmp_path / "channel.json", DISCORD)) == [
        {
            "id": "77",
            "messages": [
                {"role": "ann", "content": HELLO, **ann, "message_id": "1"},
                {"role": "ben", "content": "", **ben, "message_id": "2", "notice": "Joined the server."},
                {"role": "ben", "content": SALAM, **ben, "message_id": "3", "reply_to": "1"},
                {
                    "role": "ann",
                    "content": "",
                    **ann,
                    "message_id": "4",
                    "attachments": ["file: rose.png", "sticker: wave"],
                },
            ],
            "channel": "allgemein",
            "category": "talk",
            "server": "Gärtner",
        }
    ]


def test_a_channel_without_messages_and_one_with_a_bad_message(tmp_path: Path) -> None:
    write(tmp_path / "a" / "empty.json", {**DISCORD, "messages": []})
    write(tmp_path / "a" / "full.json", DISCORD)
    assert [row["id"] for row in read(tmp_path / "a")] == ["77"]
    with pytest.raises(ConversationError, match=r"bad\.json: row 1: .*'discord' expects"):
        read(write(tmp_path / "bad.json", {**DISCORD, "messages": [{"content": "x"}]}))
