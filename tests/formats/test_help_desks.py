from pathlib import Path
from typing import Any

import pytest

from format_cases import read, write
from samples import INTERCOM, SALAM, ZENDESK, lines
from turnlens.data.conversations import iterate_conversations
from turnlens.errors import ConversationError


def test_intercom(tmp_path: Path) -> None:
    begin, later = "2023-11-14T22:13:20+00:00", "2023-11-14T22:13:22+00:00"
    expected = {
        "id": "215",
        "title": "Commande",
        "time": begin,
        "rating": 4,
        "state": "closed",
        "tags": ["orders"],
        "messages": [
            {
                "role": "user",
                "content": "Où est ma commande ? 📦",
                "name": "Zoé",
                "time": begin,
                "attachments": ["image: https://a.b/c.png"],
            },
            {"role": "bot", "content": "", "name": "Fin", "time": begin[:-7] + "1+00:00", "notice": "assignment"},
            {"role": "assistant", "content": "", "name": "Max", "note": "call her"},
            {
                "role": "assistant",
                "content": "En route.\nDemain.",
                "name": "Max",
                "time": later,
                "attachments": ["file: suivi.pdf"],
            },
        ],
    }
    rated = {**INTERCOM, "conversation_rating": {"rating": 4}}
    assert read(write(tmp_path / "c.jsonl", lines(rated))) == [expected]
    assert read(write(tmp_path / "page.json", {"type": "conversation.list", "conversations": [rated]})) == [expected]


PAGE = {"tickets": [ZENDESK], "users": [{"id": 11, "name": "Max", "role": "agent"}]}
EXPANDED = {
    **ZENDESK,
    "requester_id": None,
    "requester": {"id": 10, "name": "زيد"},
    "assignee": {"id": 11, "name": "Max"},
}


@pytest.mark.parametrize(
    ("name", "content", "names"),
    [
        ("t.json", lines(ZENDESK), ["10", "11"]),
        ("page.json", PAGE, ["10", "Max"]),
        ("full.json", EXPANDED, ["زيد", "Max"]),
    ],
)
def test_zendesk(tmp_path: Path, name: str, content: Any, names: list[str]) -> None:
    asker, agent = names
    assert read(write(tmp_path / name, content)) == [
        {
            "id": "35",
            "title": "طلب",
            "time": "2024-05-01T10:00:00Z",
            **({"agent": "Max"} if name == "full.json" else {}),
            "status": "solved",
            "tags": ["orders"],
            "messages": [
                {"role": "user", "content": SALAM, "name": asker, "time": "2024-05-01T10:00:00Z"},
                {"role": "assistant", "content": "", "name": agent, "time": "2024-05-01T10:01:00Z", "note": "VIP!"},
                {
                    "role": "assistant",
                    "content": "On its way 🚚",
                    "name": agent,
                    "time": "2024-05-01T10:02:00Z",
                    "attachments": ["file: label.pdf"],
                },
            ],
        }
    ]


def test_ratings_and_teams_of_tickets_are_labels(tmp_path: Path) -> None:
    told = {"group": {"name": "Billing"}, "satisfaction_rating": {"score": "bad"}}
    unrated = {**ZENDESK, "satisfaction_rating": {"score": "offered"}}
    rows = read(write(tmp_path / "t.jsonl", lines({**ZENDESK, **told}, unrated)))
    assert [(row.get("rating"), row.get("team")) for row in rows] == [(0, "Billing"), (None, None)]


def test_the_fields_of_a_company_are_labels(tmp_path: Path) -> None:
    talk = {
        **INTERCOM,
        "admin_assignee_id": 7,
        "team_assignee_id": "61",
        "custom_attributes": {
            "Branch": "Mill Lane",
            "title": "Ein Hund",
            "Visits": 2,
            "state": "open",
            "Order": {"type": "order.list"},
            "Vet": None,
        },
    }
    admin = {"type": "admin", "id": "7", "name": "Max"}
    talk["conversation_parts"] = {"conversation_parts": [{"part_type": "comment", "body": "Hi", "author": admin}]}
    talk["source"] = {**INTERCOM["source"], "subject": ""}
    (row,) = read(write(tmp_path / "c.jsonl", lines(talk)))
    assert {name: row.get(name) for name in ("Branch", "Visits", "agent", "team", "title", "state")} == {
        "Branch": "Mill Lane",
        "Visits": 2,
        "agent": "Max",
        "team": "61",
        "title": "Ein Hund",  # the conversation has none itself
        "state": "closed",
    }
    assert not row.keys() & {"Order", "Vet", "custom_attributes"}
    fields = [{"id": 27642, "value": "745"}, {"id": 5, "name": "Pets", "value": 2}, {"id": 6, "value": None}]
    ticket = {**ZENDESK, "group_id": 3, "assignee_id": 11, "custom_fields": fields}
    (row,) = read(
        write(tmp_path / "page.json", {**PAGE, "tickets": [ticket], "groups": [{"id": 3, "name": "Billing"}]})
    )
    assert (row["team"], row["agent"]) == ("Billing", "Max")
    assert (row["custom_field_27642"], row["Pets"], "custom_field_6" in row) == ("745", 2, False)
    freshdesk = {"id": 1, "custom_fields": {"branch": "B"}, "conversations": [{"who": "user", "body_text": "Hello"}]}
    columns = "conversation=id,messages=conversations,speaker=who,text=body_text"
    (row,) = iterate_conversations(write(tmp_path / "f.jsonl", lines(freshdesk)), columns=columns)
    assert row["branch"] == "B" and "custom_fields" not in row


def test_a_bad_ticket_is_named_and_skipped(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl", lines(ZENDESK, {"id": 36, "comments": [{"body": "x"}]}, {"id": 37, "comments": []})
    )
    with pytest.raises(ConversationError, match=r"t\.jsonl:2: .*'zendesk' expects"):
        read(path)
    assert [row["id"] for row in read(path, on_error="skip")] == ["35"]


def test_what_lacks_a_first_message_is_read(tmp_path: Path) -> None:
    opened = {**ZENDESK, "id": 36, "submitter_id": 11, "description": "Hello?", "comments": []}
    bare = {"id": 37, "requester_id": 10, "description": "Bye"}
    for place, tickets in enumerate(([opened, ZENDESK, bare], [{**opened, "description": ""}, ZENDESK])):
        rows = read(write(tmp_path / f"{place}.jsonl", lines(*tickets)))
        told = [(row["id"], row["messages"][0]["role"], row["messages"][0]["content"]) for row in rows]
        first, last = ("36", "assistant", "Hello?"), ("37", "user", "Bye")
        assert told == [first, ("35", "user", SALAM), last][slice(None) if place == 0 else slice(1, 2)]
    rows = read(write(tmp_path / "c.jsonl", lines(INTERCOM, {**INTERCOM, "source": None})))
    assert [message.get("note") for message in rows[1]["messages"]] == [None, "call her", None]
