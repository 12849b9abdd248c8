"""What is said of files of unknown layout."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from format_cases import write

from turnwise.data.conversations import read_conversations
from turnwise.data.reading.columns import Columns
from turnwise.data.reading.detection import UnknownLayout, detect_format
from turnwise.data.reading.source import Source
from turnwise.errors import ConversationError

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
    assert (found.layout.columns, found.closest) == (expected, "table")
    assert f"--columns '{expected}'" in str(found)
    assert found.layout.examples["Case Number"] == "C-0"
    assert len(read_conversations(tmp_path / "t.csv", columns=expected)) == 4


def test_a_table_without_any_hint_in_its_names(tmp_path: Path) -> None:
    rows: list[list[object]] = [[f"k{n // 4}", "AB"[n % 2], SAID[n % 5]] for n in range(20)]
    found = layout_of(table(tmp_path / "t.csv", ["a", "b", "c"], rows)).layout.columns
    assert found == Columns("a", "b", "c")


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
    assert found.closest == "zendesk" and found.layout.columns == Columns(
        "ticket.id", "author.role", "plain_body", "when", "ticket.comments"
    )
    assert "ticket.comments[].author.role" in found.layout.examples
    assert len(read_conversations(path, columns=found.layout.columns)) == 3


def test_what_holds_no_text_gets_the_way_to_name_columns(tmp_path: Path) -> None:
    found = layout_of(write(tmp_path / "t.csv", "a,b\n1,2\n"))
    assert found.layout.columns is None
    assert "--columns 'conversation=…,speaker=…,text=…'" in str(found)


def test_a_column_that_cannot_be_guessed_stands_open(tmp_path: Path) -> None:
    rows: list[list[object]] = [[f"c{number // 2}", text] for number, text in enumerate(SAID)]
    found = layout_of(table(tmp_path / "t.csv", ["case", "words"], rows))
    assert found.layout.columns is not None and found.layout.columns.speaker == "COLUMN"
    with pytest.raises(ConversationError, match="no column 'COLUMN'"):
        read_conversations(tmp_path / "t.csv", columns=found.layout.columns)


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
