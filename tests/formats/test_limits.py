"""Lines, cells and values of JSON that are larger than may be taken into memory."""

import gzip
import io
import json
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from format_cases import read, turns, write
from turnlens.errors import ConversationError
from turnlens.formats.source_file import Source

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


def _labelled(count: int, *, of_messages: bool) -> str:
    if not of_messages:
        return json.dumps({"messages": turns("a"), **{f"k{number}": number for number in range(count)}})
    return json.dumps({"messages": [{"role": "a", "content": "b", f"k{number}": number} for number in range(count)]})


PACKED = "what is packed in it takes far more than a file of this size should"
LABELS = "the number of its labels takes far more than a file of this size should"
PARTS = "the number of parts of an e-mail takes far more than a file of this size should"
MAIL = 'From a@b Mon Jan  5 10:00:00 2026\nFrom: a@b\nContent-Type: multipart/mixed; boundary="b0"\n\n'


def _parquet(columns: dict[str, Any], **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, store_schema=False, compression="zstd", **options)
    return file.getvalue()


def _same(value: str, count: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), count), pa.array([value]))


def _in_one_list(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)


def _nested_parts(count: int) -> str:
    return "".join(f'--b{n}\nContent-Type: multipart/mixed; boundary="b{n + 1}"\n\n' for n in range(count))


# name of the file, content, and its problem
COSTLY = [
    ("c.jsonl.gz", gzip.compress(f"{GOOD}\n".encode() * 200_000), PACKED),
    ("c.json.gz", gzip.compress(b'[{"x": [' + b"{}," * 300_000 + b"{}]}]"), PACKED),
    ("c.csv.gz", gzip.compress(f"{HEADER}\n".encode() + b"1,a,b\n" * 400_000), PACKED),
    ("c.txt.gz", gzip.compress(b"Ann: a\nBen: b\nAnn: c\n" + b"\n" * 1_900_000), PACKED),
    ("c.jsonl", '{"messages": [' + "{}," * 99_000 + "{}]}\n", "the line holds more than 131,072 values"),
    ("c.jsonl", _labelled(400, of_messages=False), LABELS),
    ("c.jsonl", _labelled(1000, of_messages=True), LABELS),
    ("c.csv", f"{HEADER},{','.join(map(str, range(400)))}\n1,a,b{',x' * 400}\n", LABELS),
    (
        "c.csv",
        f"{HEADER}{',date' * 10_000}\n1,a,b{',x' * 10_000}\n",
        "the number of its columns takes far more than a file of this size should",
    ),
    ("c.parquet", _parquet({"conversation_id": _same("1", 400), "text": _same(BIG[:99_000], 400)}), PACKED),
    ("c.parquet", _parquet({"messages": _in_one_list(_same(BIG[:99_000], 400))}), PACKED),
    ("c.parquet", _parquet({"messages": _in_one_list(pa.nulls(2_000_000, pa.string()))}), PACKED),
    ("c.parquet", _parquet({"text": [BIG * 4]}, use_dictionary=False), PACKED),
    ("c.mbox", MAIL + "--b0\n\nx\n" * 2000, PARTS),
    ("c.mbox", MAIL + _nested_parts(100) + "x\n" * 20_000, PARTS),
]


@pytest.mark.usefixtures("one_megabyte")
def test_small_files_of_great_cost_are_refused(tmp_path: Path) -> None:
    for name, content, problem in COSTLY:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(ConversationError, match=rf"{name}.*: {problem}; if it is meant to be, set TURNLENS"):
            read(path)


@pytest.mark.usefixtures("one_megabyte")
def test_files_of_an_archive_share_its_budget(tmp_path: Path) -> None:
    lines = gzip.compress((json.dumps({"messages": turns("a" * 9999)}).encode() + b"\n") * 100)
    (tmp_path / "c.jsonl.gz").write_bytes(lines)
    assert len(read(tmp_path / "c.jsonl.gz")) == 100
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as packed:
        for number in range(15):
            packed.writestr(f"{number}.jsonl.gz", lines)
    with pytest.raises(ConversationError, match=r"c\.zip.*: what is packed in it takes far more"):
        read(tmp_path / "c.zip")
    with zipfile.ZipFile(tmp_path / "many.zip", "w", zipfile.ZIP_STORED) as packed:
        for number in range(300):
            packed.writestr(f"{number}.jsonl", GOOD)
    with pytest.raises(ConversationError, match=r"many\.zip: the number of files in it takes far more"):
        read(tmp_path / "many.zip")


@pytest.mark.usefixtures("one_megabyte")
def test_parquet_is_read_as_its_library_reads_it(tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": ["a", None, "é", "a"],
            "bytes": [b"x", None, b"y", b"x"],
            "kind": pa.array(["u", None, "v", "u"]).dictionary_encode(),
            "number": [1, None, 3, 4],
            "price": pa.array([Decimal("1.10"), None] * 2, pa.decimal128(10, 2)),
            "lists": [[["a"], None], None, [], [["b", "c"]]],
            "pair": pa.array([["a", "b"], None, ["c", None], ["d", "e"]], pa.list_(pa.string(), 2)),
            "messages": [[{"role": "u", "content": "hi"}], [], None, [{"role": None, "content": "hi"}, None]],
            "map": pa.array([[("k", "v")], None, [], [("k", "w"), ("l", None)]], pa.map_(pa.string(), pa.string())),
        }
    )
    told: list[dict[str, Any]] = [
        {},
        {"row_group_size": 2},
        {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY", "bytes": "DELTA_LENGTH_BYTE_ARRAY"}},
    ]
    for options in told:
        pq.write_table(table, tmp_path / "a.parquet", **options)
        assert [row for _, row in Source(tmp_path / "a.parquet").parquet_rows()] == table.to_pylist(), options
