import json
from pathlib import Path

import pytest

from format_cases import read, turns, write
from turnlens.errors import BadRowError, ConversationError

from .command_line import run, succeed


def test_bad_rows_are_an_error_or_skipped(chats, tmp_path) -> None:
    with chats.open("a") as file:
        file.write('{"messages": 3}\n')
    result = run("convert", chats, "--output", tmp_path / "out.jsonl")
    assert result.exit_code == 1 and "chats.jsonl:31" in result.output and "--skip-bad-rows" in result.output
    assert "Wrote 30 conversations" in succeed("convert", chats, "--output", tmp_path / "out.jsonl", "--skip-bad-rows")


GOOD_ROWS = [json.dumps({"id": str(n), "messages": turns(f"q{n}", "a")}) for n in range(3)]
BAD_ROW = '{"id": "x", "messages": [{"content": "hi"}]}'
# file, and the ids that are kept without the bad row: where none would be, it is not the row that is bad
ALONE: list[tuple[str, str, list[str]]] = [
    ("c.jsonl", "\n".join([*GOOD_ROWS[:2], BAD_ROW, GOOD_ROWS[2]]), ["0", "1", "2"]),
    ("c.jsonl", "\n".join([BAD_ROW, *GOOD_ROWS]), ["0", "1", "2"]),
    ("c.csv", "session_id,speaker,text\n1,ann,hi\n1,,who is it\n2,ben,yes\n", ["1", "2"]),
    (
        "c.mbox",
        "From a Mon Jan  5 10:00:00 2026\nMessage-ID: <1@x>\n\nhi\n\n"
        "From a Mon Jan  5 10:00:00 2026\nFrom: a@x.org\nMessage-ID: <2@x>\n\nhi\n",
        ["<2@x>"],
    ),
]
ALL = [
    ("c.jsonl", "\n".join([BAD_ROW] * 3)),
    ("c.txt", "31/12/2023, 21:05 - Ann: hi\n31/12/2023, 29:05 - Ben: hello\n"),
    ("c.csv", "session_id,speaker,text\n1,,hi\n1,,who is it\n"),
    ("c.mbox", "From a Mon Jan  5 10:00:00 2026\nMessage-ID: <1@x>\n\nhi\n"),
    ("c.json", json.dumps({"id": "x", "messages": [{"content": "hi"}, *turns("a", "b")]})),
]


def test_skipping_is_advised_where_only_bad_rows_are_lost(tmp_path: Path) -> None:
    for name, content, kept in ALONE:
        path = write(tmp_path / name, content)
        with pytest.raises(BadRowError):
            read(path)
        assert [row["id"] for row in read(path, on_error="skip")] == kept, content
        output = run("convert", path, "--output", tmp_path / "o.jsonl").output
        assert "--skip-bad-rows leaves out rows like this" in output
    for name, content in ALL:
        path = write(tmp_path / name, content)
        with pytest.raises(ConversationError) as caught:
            read(path)
        assert not isinstance(caught.value, BadRowError), content
        with pytest.raises(ConversationError, match="none of its"):
            read(path, on_error="skip")
        assert "--skip-bad-rows" not in run("convert", path, "--output", tmp_path / "o.jsonl").output
