from pathlib import Path

import pytest

from format_cases import read, write
from samples import DISCORD, HELLO, SALAM, TELEGRAM, TELEGRAM_ALL
from turnlens.data.conversations import read_conversations
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


def test_empty_channels_are_skipped_and_bad_messages_told(tmp_path: Path) -> None:
    write(tmp_path / "a" / "empty.json", {**DISCORD, "messages": []})
    write(tmp_path / "a" / "full.json", DISCORD)
    assert [row["id"] for row in read(tmp_path / "a")] == ["77"]
    with pytest.raises(ConversationError, match=r"bad\.json: row 1: .*'discord' expects"):
        read(write(tmp_path / "bad.json", {**DISCORD, "messages": [{"content": "x"}]}))


def test_chats_of_telegram_are_read_with_left_ones(tmp_path: Path) -> None:
    (chat,) = read(write(tmp_path / "one.json", TELEGRAM))
    assert (chat["id"], chat["title"], chat["type"]) == ("7", "Zoé", "personal_chat")
    said = [(message["role"], message["content"], message["time"][11:]) for message in chat["messages"]]
    asked, answered = ("Zoé", "Où est ma commande ?", "22:13:20"), ("Max", SALAM, "23:15:20")
    assert said == [asked, answered, ("Max", "", "00:00:00"), ("Zoé", "", "00:00:01")]
    assert (chat["messages"][2]["attachments"], chat["messages"][3]["notice"]) == (["a.jpg"], "pin_message")
    rows = read(write(tmp_path / "all.json", TELEGRAM_ALL))
    assert [row["id"] for row in rows] == ["7", "9"]
    assert rows[0] == chat
    bad = {**TELEGRAM, "messages": [*TELEGRAM["messages"], "hello"]}
    with pytest.raises(ConversationError, match="found 'hello' as a message; expected an object with 'text'"):
        read(write(tmp_path / "bad.json", bad))


def test_pages_of_unknown_products_are_read_by_columns(tmp_path: Path) -> None:
    rows = [{"ticket": 7, "kind": "customer", "comment": HELLO}, {"ticket": 7, "kind": "agent", "comment": SALAM}]
    path = write(tmp_path / "page.json", {"count": 2, "results": rows})
    [row] = read_conversations(path, columns="conversation=ticket,speaker=kind,text=comment").to_list()
    assert [message["content"] for message in row["messages"]] == [HELLO, SALAM]
    known = [{"ticket_id": 7, "author": "customer", "body": HELLO}]
    [row] = read(write(tmp_path / "known.json", {"results": known, "next": None}))
    assert (row["id"], row["messages"][0]["role"]) == ("7", "customer")


def test_the_parts_of_a_chat_of_meta_are_one(tmp_path: Path) -> None:
    said = {"ann_1/message_1": [4, 3], "ann_1/message_2": [3, 2, 1], "ben_2/message_1": [5]}
    for name, times in said.items():
        messages = [{"sender_name": "Ann", "timestamp_ms": 1700000000000 + n, "content": str(n)} for n in times]
        write(tmp_path / f"{name}.json", {"thread_path": f"inbox/{name[:5]}", "messages": messages})
    write(tmp_path / "ben_2" / "message_2.json", {"thread_path": "inbox/ben_2", "messages": [messages[0], "hello"]})
    rows = read(tmp_path, on_error="skip")
    assert [[message["content"] for message in row["messages"]] for row in rows] == [["1", "2", "3", "4"]]
    with pytest.raises(ConversationError, match="found 'hello' as a message"):
        read(tmp_path)
