"""Exports that differ from one another in names only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exports import ANSWERED, ASKED, FILES, NOTE
from format_cases import read, write
from turnlens.data.conversations import read_conversations
from turnlens.errors import ConversationError
from turnlens.formats.export_layouts import EXPORTS

_NAMES_ONLY = {"Discord's CSV", "Telegram", "Teams", "Skype"}


def test_there_is_a_sample_of_every_product() -> None:
    assert list(FILES) == list(EXPORTS)


@pytest.mark.parametrize("product", FILES)
def test_who_says_what_when(tmp_path: Path, product: str) -> None:
    name, content = FILES[product]
    [row] = read(write(tmp_path / name, content))
    said = [(message["role"], message["content"]) for message in row["messages"] if message["content"]]
    roles = ("Zoé", "Max") if product in _NAMES_ONLY else ("user", "assistant")
    answered = [] if product == "Zendesk without comments" else [(roles[1], ANSWERED)]
    identifier = "7-2" if product == "Discord's CSV" else "7"  # of the file, which is one conversation
    assert (row["id"], said) == (identifier, [(roles[0], ASKED), *answered])
    assert row["messages"][0]["time"].startswith("2023-11-14T22:13:20")


@pytest.mark.parametrize("product", ["Freshdesk", "HubSpot", "Help Scout"])
def test_notes_are_not_said_to_the_customer(tmp_path: Path, product: str) -> None:
    name, content = FILES[product]
    [row] = read(write(tmp_path / name, content))
    assert [message["note"] for message in row["messages"] if "note" in message] == [NOTE]


def test_names_titles_and_intents_are_labels(tmp_path: Path) -> None:
    def first(product: str) -> dict[str, Any]:
        return read(write(tmp_path / product / FILES[product][0], FILES[product][1]))[0]

    assert first("Freshdesk")["title"] == "Commande"
    assert first("Front")["messages"][0]["name"] == "Zoé"
    assert first("Gorgias' messages")["messages"][1]["name"] == "Max"
    assert first("Rasa's events")["messages"][0]["intent"] == "where"


def test_all_that_a_bot_answers_at_once(tmp_path: Path) -> None:
    name, [answered, asked] = FILES["Dialogflow CX's log"]
    answers = [{"text": {"text": [text]}} for text in ("a", "b")]
    answered = {**answered, "jsonPayload": {"queryResult": {"text": ASKED, "responseMessages": answers}}}
    [row] = read(write(tmp_path / name, [answered, asked]))
    assert [message["content"] for message in row["messages"]] == [ASKED, "a\nb"]


def test_chats_of_salesforce_without_the_agents_name_and_over_lines(tmp_path: Path) -> None:
    body = "Chat Started: Friday\nAgent Max M\n( 53s ) Support: Hi, Zoé\n( 1h 2m 3s ) Zoé: It is\nlate\n"
    [row] = read(write(tmp_path / "chats.csv", f'Id,Body,ChatKey\n7,"{body}",k\n8,,l\n'))
    assert [(message["role"], message["content"], message["start"]) for message in row["messages"]] == [
        ("Support", "Hi, Zoé", 53.0),
        ("Zoé", "It is\nlate", 3723.0),
    ]


def test_all_chats_of_telegram_and_what_is_no_text(tmp_path: Path) -> None:
    chat = FILES["Telegram"][1]
    photo = {"id": 3, "type": "message", "date": "2023-11-15T00:00:00", "from": "Max", "photo": "a.jpg", "text": ""}
    joined = {"id": 4, "type": "service", "date": "2023-11-15T00:00:01", "actor": "Zoé", "action": "pin_message"}
    whole = {"about": "…", "personal_information": {}, "chats": {"about": "…", "list": [chat, chat]}}
    whole["chats"]["list"][0] = {**chat, "id": 8, "messages": [*chat["messages"], photo, joined]}
    rows = read(write(tmp_path / "result.json", whole))
    assert [row["id"] for row in rows] == ["8", "7"]
    assert rows[0]["messages"][2]["attachments"] == ["a.jpg"]
    assert (rows[0]["messages"][3]["content"], rows[0]["messages"][3]["notice"]) == ("", "pin_message")


def test_a_file_of_another_layout_and_bad_records(tmp_path: Path) -> None:
    with pytest.raises(ConversationError, match="found no records of Freshdesk, "):
        read(write(tmp_path / "x.jsonl", '{"a": 1}\n'), "exports")
    bad = {**FILES["Rasa"][1], "events": ["hello"]}
    with pytest.raises(ConversationError, match="found \"hello\" as a message; expected an object with 'text'"):
        read(write(tmp_path / "bad.json", bad))


def test_a_page_of_an_unknown_product_is_read_by_its_columns(tmp_path: Path) -> None:
    rows = [{"ticket": 7, "kind": "customer", "comment": ASKED}, {"ticket": 7, "kind": "agent", "comment": ANSWERED}]
    path = write(tmp_path / "page.json", {"count": 2, "results": rows})
    [row] = read_conversations(path, columns="conversation=ticket,speaker=kind,text=comment").to_list()
    assert [message["content"] for message in row["messages"]] == [ASKED, ANSWERED]
    known = [{"ticket_id": 7, "author": "customer", "body": ASKED}]
    [row] = read(write(tmp_path / "known.json", {"results": known, "next": None}))
    assert (row["id"], row["messages"][0]["role"]) == ("7", "customer")
