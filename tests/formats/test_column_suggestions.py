import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from format_cases import write
from turnlens.data.conversations import read_conversations
from turnlens.errors import BadRowError
from turnlens.formats.columns import Columns
from turnlens.formats.detection import UnknownLayout, detect_format
from turnlens.formats.source_file import Source

SAID = ["My card is gone.", "I will block it.", "Thank you very much!", "你好，我的包裹在哪里", "It comes tomorrow."]


def layout_of(path: Path) -> UnknownLayout:
    with pytest.raises(UnknownLayout) as caught:
        detect_format(Source(path))
    return caught.value


def table(path: Path, header: list[str], rows: list[list[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def test_a_table_of_tickets(tmp_path: Path) -> None:
    header = ["No", "Case Number", "Channel", "Created On", "Author Type", "Agent Email", "Comment Body", "Subject"]
    rows: list[list[object]] = [
        [
            n,
            f"C-{n // 5}",
            "mail",
            f"2024-05-31 10:{n:02}",
            ("customer", "agent")[n % 2],
            "b@x.org",
            SAID[n % 5],
            "Help me",
        ]
        for n in range(20)
    ]
    found = layout_of(table(tmp_path / "t.csv", header, rows))
    expected = Columns("Case Number", "Author Type", "Comment Body", "Created On")
    assert found.layout.columns == expected
    assert f"--columns '{expected}'" in str(found)
    assert found.layout.examples["Case Number"] == "C-0"
    assert len(read_conversations(tmp_path / "t.csv", columns=expected)) == 4


def test_nested_records(tmp_path: Path) -> None:
    records = [
        {
            "ticket": {
                "id": n,
                "subject": "Help me with this card please",
                "tags": [{"name": "card"}],
                "comments": [
                    {
                        "author": {"id": n * 9 + m, "role": ("end-user", "agent")[m]},
                        "html": "",
                        "plain_body": SAID[m],
                        "when": m,
                    }
                    for m in range(2)
                ],
            }
        }
        for n in range(3)
    ]
    path = write(tmp_path / "t.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    found = layout_of(path)
    assert found.layout.columns == Columns("ticket.id", "author.role", "plain_body", "when", "ticket.comments")
    assert "ticket.comments[].author.role" in found.layout.examples
    assert len(read_conversations(path, columns=found.layout.columns)) == 3


def test_files_without_text_get_advice_on_columns(tmp_path: Path) -> None:
    found = layout_of(write(tmp_path / "t.csv", "a,b\n1,2\n"))
    assert found.layout.columns is None
    assert "--columns 'conversation=…,speaker=…,text=…'" in str(found)


ASKED = [f"How do I change the address of order {n}? It was wrong from the very beginning." for n in range(12)]
ANSWERED = [f"Open order {n}, choose the address and write the new one there, then save it." for n in range(12)]
TOLD = [*zip(ASKED, ANSWERED)]


def records_of(path: Path, rows: list[dict[str, Any]]) -> Path:
    return write(path, "".join(json.dumps(row) + "\n" for row in rows))


UNTIDY = {
    "answers beside questions": (
        [
            {"no": f"T-{n}", "Customer Message": q, "Agent Reply": a, "Subject": "Address"}
            for n, (q, a) in enumerate(TOLD)
        ],
        Columns("no", None, "Customer Message", None, None, "Agent Reply"),
    ),
    "calls of sessions": (
        [
            {
                "span": n,
                "chat session": f"s{n // 3}",
                "payload": {"user_input": q, "final_output": a},
                "at": 1717149600 + n,
            }
            for n, (q, a) in enumerate(TOLD)
        ],
        Columns("chat session", None, "payload.user_input", "at", None, "payload.final_output"),
    ),
    "a list of turns": (
        [{"ref": n, "log": [{"Frage": q, "Antwort": a} for q, a in TOLD[n : n + 3]]} for n in range(6)],
        Columns("ref", None, "Frage", None, "log", "Antwort"),
    ),
    "requests without answers, with a long description of each": (
        [{"Case": n, "Topic": f"topic of {n}", "What happened": q} for n, q in enumerate(ASKED)],
        Columns(text="What happened"),
    ),
}
MISLEADING = {
    "ids that repeat": (
        [{"id": n // 2, "entries": [{"by": "ab"[m], "body": TOLD[n][m]} for m in range(2)]} for n in range(12)],
        "ids would repeat: 'id'",
    ),
    "answers only": (
        [{"session": f"s{n // 3}", "span kind": "LLM", "tokens": n, "output": a} for n, a in enumerate(ANSWERED)],
        "no column was found that says who speaks",
    ),
    "one speaker only": (
        [{"session": f"s{n // 3}", "author": "bot", "output": a} for n, a in enumerate(ANSWERED)],
        "one side would be missing in 4 of 4",
    ),
    "the other side's text as a label": (
        [{"id": n, "said": q, "kept elsewhere": a} for n, (q, a) in enumerate(TOLD)],
        "the texts of 'kept elsewhere' would not be messages",
    ),
    "requests as JSON": (
        [{"trace": n // 3, "kind": "AB"[n % 2], "in": json.dumps({"query": q})} for n, q in enumerate(ASKED)],
        "no column|JSON",
    ),
    "the other side's text in a list": (
        [{"id": n, "said": q, "steps": [{"kept": a}]} for n, (q, a) in enumerate(TOLD)],
        "would not be messages",
    ),
}


@pytest.mark.parametrize("name", UNTIDY)
def test_suggestions_keep_both_sides(tmp_path: Path, name: str) -> None:
    rows, expected = UNTIDY[name]
    path = records_of(tmp_path / "t.jsonl", rows)
    layout = layout_of(path).layout
    assert layout.columns == expected
    talks = read_conversations(path, columns=layout.columns)
    plain = [{"role": message["role"], "content": message["content"]} for message in talks[0]["messages"]]
    assert layout.first is not None and plain == [
        {"role": message["role"], "content": message["content"]} for message in layout.first["messages"]
    ]
    said = {message["content"] for talk in talks for message in talk["messages"]}
    assert said == ({*ASKED, *ANSWERED} if expected.answer and expected.messages is None else said) and len(said) >= 12
    assert len(set(talks["id"])) == len(talks)


@pytest.mark.parametrize("name", MISLEADING)
def test_misleading_columns_are_not_suggested(tmp_path: Path, name: str) -> None:
    rows, told = MISLEADING[name]
    answer = layout_of(records_of(tmp_path / "t.jsonl", rows))
    assert answer.layout.columns is None and re.search(told, answer.layout.problem), answer.layout
    assert "--columns" in str(answer) and re.search(told, str(answer))


def test_timestamps_alone_suggest_no_chat_app(tmp_path: Path) -> None:
    answer = layout_of(records_of(tmp_path / "t.jsonl", [{"timestamp": 1717149600 + n, "value": n} for n in range(9)]))
    assert "discord" not in str(answer)


def test_suggestions_skip_a_few_bad_rows(tmp_path: Path) -> None:
    rows = [{"case": n // 4, "author": "ab"[n % 2], "words": q} for n, q in enumerate(ASKED * 4)]
    layout = layout_of(records_of(tmp_path / "t.jsonl", [*rows, {"author": "a", "words": "who knows"}])).layout
    assert layout.skips and layout.columns == Columns("case", "author", "words")


@pytest.mark.parametrize(
    "header",
    [["Respondent ID", "Score", "Comment"], ["Ticket ID", "Rating", "What went wrong?"], ["id", "stars", "body"]],
)
def test_one_text_a_row_needs_no_other_column(tmp_path: Path, header: list[str]) -> None:
    rows: list[list[object]] = [[100 + number, number % 5, SAID[number % 5]] for number in range(20)]
    path = table(tmp_path / "t.csv", header, rows)
    found = layout_of(path).layout.columns
    assert found == Columns(text=header[2])
    assert len(read_conversations(path, columns=found)) == 20


@pytest.mark.parametrize(
    ("day", "other", "time"),
    [
        ("02.01.24", "{:02}:48:49", "Eing.+Rest"),
        ("2024-01-02", "{:02}:48", "Eing.+Rest"),
        ("02.01.24", "00:{:02}:49", "Eing."),  # durations
        ("02.01.24 08:48", "{:02}:48", "Eing."),
        ("n/a", "{:02}:48", "Rest"),
    ],
)
def test_a_day_goes_with_a_time_of_day(tmp_path: Path, day: str, other: str, time: str) -> None:
    rows: list[list[object]] = [
        [f"V-{n // 4}", day, other.format(n % 24), ("Kunde", "Team")[n % 2], SAID[n % 5]] for n in range(40)
    ]
    header = ["Vorgangsnr.", "Eing.", "Rest", "Absender", "Inhalt"]
    found = layout_of(table(tmp_path / "t.csv", header, rows)).layout.columns
    assert found == Columns("Vorgangsnr.", "Absender", "Inhalt", time)


@pytest.mark.parametrize("spent", ["00:{:02}:48", "{:02}:48"])
def test_times_and_durations_are_no_conversations(tmp_path: Path, spent: str) -> None:
    rows: list[list[object]] = [
        [f"V-{n}", spent.format(n % 17), f"02.01.24 08:{n % 30:02}", ("North", "South")[n % 2], SAID[n % 5]]
        for n in range(60)
    ]
    header = ["Kontakt-ID", "AHT", "Beginn", "Skill", "Anliegen"]
    found = layout_of(table(tmp_path / "t.csv", header, rows)).layout.columns
    assert found == Columns(text="Anliegen", time="Beginn")


@pytest.mark.parametrize(
    ("header", "sure"),
    [
        (["Ticket ID", "Author Type", "Comment"], True),
        (["a", "Author Type", "Comment"], False),  # nothing says that these are conversations
        (["a", "b", "c"], False),
        (["Ticket ID", "Author Type", "Comment", "Sender"], False),  # two columns say who speaks
        (["Ticket ID", "Author Type", "Comment", "Requester"], True),  # one of them never changes in a ticket
    ],
)
def test_names_and_values_must_agree_to_be_sure(tmp_path: Path, header: list[str], sure: bool) -> None:
    also = {"Sender": lambda n: f"person {n % 2}", "Requester": lambda n: f"person {n // 4}"}
    rows: list[list[object]] = [
        [100 + n // 4, "ab"[n % 2], SAID[n % 5], *(also[name](n) for name in header[3:])] for n in range(40)
    ]
    layout = layout_of(table(tmp_path / "t.csv", header, rows)).layout
    assert layout.columns == Columns(header[0], header[1], header[2])
    assert layout.sure == sure


def minutes(number: int) -> str:
    return f"2024-03-{number // 60 + 1:02} 10:{number % 60:02}"


def test_speakers_and_times_without_ids_are_one_conversation(tmp_path: Path) -> None:
    rows: list[list[object]] = [[minutes(n), ("kim", "lee", "moe")[n % 3], SAID[n % 5]] for n in range(90)]
    path = table(tmp_path / "t.csv", ["Date", "User", "Message"], rows)
    found = layout_of(path)
    assert found.layout.columns == Columns(speaker="User", text="Message", time="Date")
    assert "as one conversation (--split-by cuts it)" in str(found)
    (talk,) = read_conversations(path, columns=found.layout.columns)
    assert [message["role"] for message in talk["messages"]] == [row[1] for row in rows]
    assert len(read_conversations(path, columns=found.layout.columns, split_by="day")) == 2
    with pytest.raises(ValueError, match="of a single long chat, name speaker, text and time instead"):
        read_conversations(path, columns="speaker=User,text=Message")


# reviews: header, and a row by its number
REVIEWS: dict[str, tuple[list[str], Any]] = {
    "by rating": (["reviewer", "rating", "date", "review"], lambda n: [f"Ann {n}", n // 271, minutes(n)[:10]]),
    "by stars, at times": (["user", "stars", "posted at", "review"], lambda n: [f"Ann {n}", n % 7 and 5, minutes(n)]),
    "without times": (["author name", "rating", "title", "review"], lambda n: [f"Ann {n}", n // 271, "good"]),
    "of products": (["product", "reviewer", "stars", "review"], lambda n: [f"p{n // 130}", f"Ann {n}", n % 5]),
    "of countries": (["country", "rating", "review"], lambda n: [("DE", "FR", "UK")[n % 3], n // 271]),
    "told to agents": (["agent", "submitted", "review"], lambda n: [("Kim", "Lee")[n % 2], minutes(n)[:10]]),
}


def test_reviews_are_texts_of_their_own(tmp_path: Path) -> None:
    for header, row in REVIEWS.values():
        rows = [[*row(n), f"{SAID[n % 5]} {n}"] for n in range(1355)]
        columns = layout_of(table(tmp_path / "t.csv", header, rows)).layout.columns
        assert columns is not None and (columns.speaker, columns.text) == (None, "review"), header


def test_a_format_that_reads_nothing_claims_nothing(tmp_path: Path) -> None:
    said = [{"response": {"message": text, "sender": ("human", "bot")[n % 2]}} for n, text in enumerate(SAID)]
    page = {"conversations": [{"conversation": {"id": f"c{n}"}, "responses": said} for n in range(3)]}
    path = write(tmp_path / "t.json", page)
    with pytest.raises(UnknownLayout, match="looks like 'chat', which does not read it: found") as caught:
        read_conversations(path)
    columns = caught.value.layout.columns
    assert columns == Columns("conversation.id", "response.sender", "response.message", messages="responses")
    assert [len(talk["messages"]) for talk in read_conversations(path, columns=columns)] == [5, 5, 5]
    one_bad = [{"messages": [{"content": "hi"}]}, {"messages": [{"role": "user", "content": "hi"}]}]
    with pytest.raises(BadRowError, match=r"t\.jsonl:1: message 1 has no 'role'"):
        read_conversations(records_of(tmp_path / "t.jsonl", one_bad))
