"""Lines, cells and values of JSON that are larger than may be taken into memory."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from format_cases import read, turns, write
from turnlens.errors import ConversationError

BIG = "x" * (1 << 20)


@pytest.fixture
def one_megabyte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLENS_MAX_LINE_MB", "1")


GOOD, BAD = json.dumps({"messages": turns("a")}), json.dumps({"messages": turns(BIG * 2)})
HEADER = "conversation_id,speaker,text"


@pytest.mark.usefixtures("one_megabyte")
@pytest.mark.parametrize(
    ("name", "content", "place", "problem"),
    [
        ("c.jsonl", f"{GOOD}\n{BAD}\n", ":2", "the line"),
        ("c.json", f"[{GOOD}, {BAD}]", ": row 2", "a value of the JSON"),
        ("c.csv", f"{HEADER}\n1,a,b\n1,a,{BIG}\n", ":3", "the line"),
        ("c.csv", f'{HEADER}\n1,a,b\n1,a,"' + f"{'x' * 9999}\n" * 120 + '"\n', ":3", "a cell"),
        ("c.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n" + "word\n" * 300_000, "", "the file"),
        ("c.txt", f"Ann: a\nBen: b\nAnn: {BIG}\n", ":3", "the line"),
    ],
)
def test_too_large_input_is_told_with_its_place(
    tmp_path: Path, name: str, content: str, place: str, problem: str
) -> None:
    path = write(tmp_path / name, content)
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    for file in (path, packed):
        with pytest.raises(
            ConversationError, match=f"{problem} is larger than 1 MB; .* TURNLENS_MAX_LINE_MB"
        ) as caught:
            read(file)
        assert caught.value.where == f"{file}{place}"


def test_the_limit_must_be_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "c.jsonl", json.dumps({"messages": turns("a")}))
    for value in ("0", "many", "-1"):
        monkeypatch.setenv("TURNLENS_MAX_LINE_MB", value)
        with pytest.raises(ValueError, match="expected a whole number of megabytes above zero"):
            read(path)


def test_a_large_cell_is_read(tmp_path: Path) -> None:
    text = "word " * 40_000  # more than the 131,072 characters that csv allows by itself
    (row,) = read(write(tmp_path / "c.csv", f"conversation_id,speaker,text\n1,a,{text}\n1,b,yes\n"))
    assert [message["content"] for message in row["messages"]] == [text, "yes"]
