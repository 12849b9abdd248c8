import gzip
import json
import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chat_cases import chat, write_jsonl
from format_cases import read
from turnlens.data.conversations import read_conversations
from turnlens.errors import ConversationError

GOOD = json.dumps(chat("hello"))


BAD_LINES = {
    '{"messages": [': "malformed JSON",
    '{"messages": "cut': "malformed JSON (Unterminated string starting at column 14)",
    "[1, 2]": "message 1 is 1; expected",
    "12": "expected a JSON object",
    '{"text": "hello"}': "expected a list of",
    '{"messages": "hello"}': "expected a list of",
    '{"messages": []}': "no messages",
    '{"messages": ["hello"]}': "message 1 is",
    '{"messages": [{"role": "user"}]}': "no 'content'",
    '{"messages": [{"role": "user", "content": 7}]}': "message 1 has 7",
    '{"messages": [{"role": "user", "content": null}]}': "message 1 has null",
    '{"messages": [{"role": "user", "content": [{"type": "text"}]}]}': "no text under 'text'",
    '{"messages": [{"role": 3, "content": "x"}]}': "under 'role'",
    '{"messages": [{"role": "", "content": "x"}]}': "under 'role'",
    '{"messages": [{"content": "x"}]}': "no 'role'",
    '{"messages": [{"role": "user", "content": "x"}], "n": 99999999999999999999}': "64 bits",
    f'{{"messages": [], "n": {"9" * 5000}}}': "a number of thousands of digits",
    '{"messages": [{"role": "user", "content": "x"}], "a\\u0000b": 1}': "label 'a\\x00b' has a NUL character",
    '{"messages": [{"role": "user", "content": "x", "a\\u0000b": 1}]}': "label 'a\\x00b' has a NUL character",
}


def test_bad_rows_are_errors_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    for line, problem in BAD_LINES.items():
        path.write_text(f"{GOOD}\n\n{line}\n{GOOD}\n", encoding="utf-8")
        with pytest.raises(ConversationError) as caught:
            read(path)
        assert caught.value.where == f"{path}:3", line
        assert problem in caught.value.problem
        assert len(read(path, on_error="skip")) == 2


def test_a_line_that_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(f"{GOOD}\n".encode() + GOOD.replace("hello", "é").encode("utf-16-le") + f"\n{GOOD}".encode())
    with pytest.raises(ConversationError, match=r"chat\.jsonl:2: "):
        read_conversations(path)
    path.write_bytes(GOOD.encode() + b'\n{"messages": "\xff"}\n')
    with pytest.raises(ConversationError, match=r"chat\.jsonl:2: found "):
        read_conversations(path)


def test_bad_items_of_arrays_are_named_by_row(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([chat("hello"), chat()]), encoding="utf-8")
    with pytest.raises(ConversationError, match=r"chat\.json: row 2: the conversation has no messages"):
        read_conversations(path)


def test_numbers_without_a_common_type_are_one_error(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "chat.jsonl", [chat("a", score=2**60), chat("a", score=0.5)])
    with pytest.raises(ConversationError, match="a label has values that fit no common type"):
        read_conversations(path)


def test_labels_of_two_types_are_named_errors(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "chat.jsonl", [chat("a", score=1)] * 1500 + [chat("a", score="high")])
    with pytest.raises(ConversationError, match=r"chat\.jsonl:1501: label 'score' is text here but a number"):
        read_conversations(path)


BAD_FILES = [
    ("chat.jsonl", b"", "empty"),
    ("chat.jsonl", b"\n\n", "empty"),
    ("chat.json", b"[]", "empty"),
    ("chat.csv", b"conversation_id,speaker,text\n", "empty"),
    ("chat.json", b'[{"messages": [', "malformed JSON"),
    ("chat.json", b'[{"messages": "\xff"}]', "expected a list of"),
    ("chat.jsonl.gz", gzip.compress(GOOD.encode() * 50, mtime=0)[:-9], "cut off"),
    ("chat.jsonl.gz", GOOD.encode(), "not a gzip file"),
    ("chat.json", b'[{"messages": [], "n": ' + b"9" * 5000 + b"}]", "Number of too many digits"),
    ("chat.parquet", GOOD.encode(), "Parquet"),
    ("chat.xlsx", b"", "empty"),
    ("chat.jsonl", gzip.compress(GOOD.encode(), mtime=0), "is compressed by gzip: name it ….gz"),
    ("chat.csv", b"PK\x03\x04", "a zip file or workbook: name it ….xlsx or ….zip"),
    ("chat.txt", b"%PDF-1.4\n", "a PDF: export it"),
    ("chat.xls", b"\xd0\xcf\x11\xe0", "an old workbook: save it as .xlsx"),
    ("chat.jsonl", f"[{GOOD.strip()}]\n".encode(), "one list, name the file .json"),
    ("chat.jsonl", GOOD.encode() + b'{\n "messages": []\n}\n', "where one takes several lines, name the file .json"),
    ("chat.json", b"{}", "found no object with any key"),
    ("chat.jsonl", f'{GOOD}\n{{"prompt": "a"}}\n'.encode(), "found no 'messages' but prompt"),
    ("chat.docx", GOOD.encode(), "unknown ending '.docx'"),
    ("export.zip", b"PK", "not a zip file that can be read"),
    ("export.tar.gz", gzip.compress(b"", mtime=0), "unpack it"),
    ("chat.jsonl", b'{"utterance_list": 1}\n', "could not detect the format: found the columns or keys utt"),
    ("chat.txt", b"just a line\n", "could not detect the format: found 'just a line"),
    ("chat.csv", b"who,what\na,b\n", "found the columns or keys what, who"),
]


def test_unreadable_files_are_one_error(tmp_path: Path) -> None:
    for number, (name, data, problem) in enumerate(BAD_FILES):
        path = tmp_path / str(number) / name
        path.parent.mkdir()
        path.write_bytes(data)
        with pytest.raises(ConversationError) as caught:
            read(path)
        assert caught.value.where.startswith(str(path))
        assert problem in caught.value.problem, name


def test_lines_below_a_table_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = "conversation_id,speaker,text\n1,user,hello\n"
    path = tmp_path / "report.csv"
    path.write_text(table + '\n\n"Customer Cases"\n"Copyright (c) 2000-2024, all rights reserved"\n', encoding="utf-8")
    assert [row["id"] for row in read_conversations(path)] == ["1"]
    assert "report.csv:5: left out what stands below the table\n" in caplog.text
    assert "Customer" not in caplog.text  # no redaction has seen it
    path.write_text(table + "cut\n2,user,hello\n", encoding="utf-8")
    with pytest.raises(ConversationError, match=r"report\.csv:3: found 1 cells; expected 3"):
        read_conversations(path)


def test_unclosed_quotes_are_errors_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "chat.csv"
    path.write_text(
        'conversation_id,speaker,text\n1,user,hello\n2,user,"never closed\n3,user,"fine"\n', encoding="utf-8"
    )
    with pytest.raises(ConversationError, match=r"chat\.csv:3: malformed table, most likely a quote"):
        read_conversations(path)


def test_unknown_formats_and_paths_get_advice(tmp_path: Path) -> None:
    with pytest.raises(ConversationError, match=r"known are auto, .*chat, .*table"):
        read_conversations(tmp_path, format="chatt")
    for nothing, problem in (
        (tmp_path / "missing.jsonl", "no such file or folder"),
        (tmp_path, "the folder holds no conversations; expected .jsonl, "),
        (str(tmp_path / "*.jsonl"), "no file matches"),
    ):
        with pytest.raises(ConversationError, match=problem):
            read_conversations(nothing)
    with pytest.raises(ConversationError, match="empty"):
        read_conversations([])
    with pytest.raises(ValueError, match="on_error"):
        read_conversations(tmp_path, on_error="ignore")  # type: ignore[arg-type]


def test_skipping_keeps_the_rest_and_reports_each_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_jsonl(tmp_path / "chat.jsonl", [chat("good", id="a"), *[chat()] * 25, chat("good", id="b")])
    for _ in range(2):  # the second reading comes from the cache
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="turnlens"):
            conversations = read_conversations(path, on_error="skip")
        assert list(conversations["id"]) == ["a", "b"]
        assert "skipped 25 bad rows, kept 2 conversations" in caplog.text
        assert f"{path}:2: the conversation has no messages" in caplog.text
        assert f"{path}:21: " in caplog.text
        assert f"{path}:22: " not in caplog.text
        assert "... and 5 more" in caplog.text


def test_skipping_keeps_rows_before_damage(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [chat("good", id="a")])
    (tmp_path / "b.jsonl").write_text("")
    write_jsonl(tmp_path / "c.jsonl", [{"schema": 1}])
    (tmp_path / "d.json").write_text(json.dumps([chat("good", id="d"), chat("cut")])[:-9])
    assert list(read_conversations(tmp_path, on_error="skip")["id"]) == ["a", "d"]


def test_skipping_everything_is_an_error(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "chat.jsonl", [chat(), chat()])
    with pytest.raises(ConversationError, match=r"none of its 2 rows .*chat\.jsonl:1: "):
        read_conversations(path, on_error="skip")


def test_damaged_parquet_files_are_one_error_or_skipped(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [chat("good", id="a")])
    path = tmp_path / "b.parquet"
    pq.write_table(pa.Table.from_pylist([chat("hello" * 9, id="b")] * 50), path)
    whole = path.read_bytes()
    problems = set()
    for start in range(4, len(whole) - 8, 120):
        path.write_bytes(whole[:start] + b"\xff" * 8 + whole[start + 8 :])
        try:
            read_conversations(path)
        except ConversationError as error:
            problems.add(str(error))
            assert "a" in read_conversations(tmp_path, on_error="skip")["id"]
    assert problems == {f"{path}: not a readable Parquet file; write it again"}
