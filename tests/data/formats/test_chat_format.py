"""Chat rows and ShareGPT, as JSONL, JSON, Parquet and text."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from format_cases import read, turns, write


def test_sharegpt(tmp_path: Path) -> None:
    messages = [
        {"from": "system", "value": "be kind"},
        {"from": "human", "value": "hello"},
        {"from": "gpt", "value": "hi", "weight": 1},
        {"from": "tool", "value": "42"},
    ]
    rows = [{"id": "s1", "conversations": messages}, {"id": "s2", "conversations": messages[1:3]}]
    expected = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "hi", "weight": 1},
        {"role": "tool", "content": "42"},
    ]
    in_array = read(write(tmp_path / "array.json", json.dumps(rows, indent=2)))
    in_lines = read(write(tmp_path / "lines.jsonl", "".join(json.dumps(row) + "\n" for row in rows)))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    in_parquet = read(tmp_path / "rows.parquet")
    assert in_array == in_lines == in_parquet
    assert in_array == [{"id": "s1", "messages": expected}, {"id": "s2", "messages": expected[1:3]}]


def test_content_in_text_parts_is_joined(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "good "}, {"type": "text", "text": "day"}]
    row = {"messages": [{"role": "user", "content": parts}]}
    assert read(write(tmp_path / "c.jsonl", json.dumps(row)))[0]["messages"] == turns("good day")


def test_json_that_is_no_array_and_values_longer_than_a_chunk(tmp_path: Path) -> None:
    rows = [{"id": str(i), "messages": turns("word " * 150_000)} for i in range(4)]
    path = write(tmp_path / "c.json", json.dumps(rows, indent=1))
    assert [row["id"] for row in read(path)] == ["0", "1", "2", "3"]
    one = write(tmp_path / "one.json", json.dumps(rows[0], indent=1))
    several = write(tmp_path / "several.json", "\n".join(json.dumps(row) for row in rows[:2]) + "\n")
    assert len(read(one)) == 1
    assert len(read(several)) == 2


def test_chat_lines_in_a_text_file_are_detected(tmp_path: Path) -> None:
    row = {"id": "a", "messages": turns("hello")}
    assert read(write(tmp_path / "c.txt", json.dumps(row))) == [row]
