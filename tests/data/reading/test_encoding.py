"""Text in UTF-16."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from format_cases import read, turns
from samples import HELLO, NIHAO, SALAM

from turnwise.errors import ConversationError

TABLE = f'Ticket ID\tAuthor\tText\n1\tann\t{HELLO}\n1\tben\t"{NIHAO}\n{SALAM}"\n'


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("name", ["Unicode text.txt", "table.csv", "table.tsv"])
def test_a_spreadsheet_saved_as_unicode_text(tmp_path: Path, name: str, encoding: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    path = tmp_path / name
    path.write_bytes((mark + TABLE.replace("\n", "\r\n")).encode(encoding))
    (row,) = read(path)
    assert row["id"] == "1"
    assert [(m["role"], m["content"].replace("\r\n", "\n")) for m in row["messages"]] == [
        ("ann", HELLO),
        ("ben", f"{NIHAO}\n{SALAM}"),
    ]


def test_more_text_than_is_decoded_at_once(tmp_path: Path) -> None:
    rows = [{"id": str(number), "messages": turns(f"🙂{number}" * 50, "\u2028")} for number in range(2000)]
    path = tmp_path / "c.jsonl"
    path.write_bytes("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-16"))
    assert read(path) == rows


def test_a_file_that_is_cut_off_within_a_character(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_bytes(TABLE.encode("utf-16")[:-1])
    with pytest.raises(ConversationError, match="not UTF-8 text"):
        read(path)
