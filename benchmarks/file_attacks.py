"""Files that are made to cost far more than their size: processor time and memory until there is an answer or an error.

Each file has at most 10 MB and is read by `read_conversations` in a process of its own. A reader draws everything that
it takes from one `Budget` (`turnlens.formats.bad_input`); a row is out of bounds above 20 seconds of processor time or
1 GB.

Run: python benchmarks/bench_attacks.py --files [NAME …]
"""

from __future__ import annotations

import gzip
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

SECONDS, MEGABYTES = 20, 1024
READ = """
import sys
from turnlens.data.conversations import read_conversations
from turnlens.errors import ConversationError
try:
    print(len(read_conversations(sys.argv[1])), "conversations")
except (ConversationError, ValueError) as error:
    print(str(error).replace(sys.argv[1], "")[:int(sys.argv[2])])
"""
MB = 1 << 20
_SHEET = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{}</worksheet>'
_STRINGS = '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>{}</t></si></sst>'
_CELL = '<c t="inlineStr"><is><t>{}</t></is></c>'
_HEAD = f'<row r="1">{"".join(map(_CELL.format, ("conversation_id", "speaker", "text")))}</row>'


def workbook(path: Path, data: str, *, sheets: int = 1, others: str = "", files: dict[str, str] | None = None) -> Path:
    """A workbook whose sheets all show one part; ``others`` stands behind its rows."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    listed = "".join(f'<sheet name="s{n}" sheetId="{n}" r:id="r1"/>' for n in range(1, sheets + 1))
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        + "".join(
            f'<Override PartName="/{name}" ContentType="{kind}.{part}+xml"/>'
            for name, part in (("xl/worksheets/sheet1.xml", "worksheet"), ("xl/sharedStrings.xml", "sharedStrings"))
            if part == "worksheet" or name in (files or {})
        )
        + "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{relations}"><Relationship Id="r1" Type="{office}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{relations}"><Relationship Id="r1" '
        f'Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": _SHEET.format(f"<sheetData>{data}</sheetData>{others}"),
        **(files or {}),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return path


def text(path: Path, pieces: Iterable[str] | str) -> Path:
    """A file with these pieces, gzipped if it is named so."""
    data = (piece.encode() for piece in ([pieces] if isinstance(pieces, str) else pieces))
    with gzip.open(path, "wb", 6) if path.suffix == ".gz" else path.open("wb") as file:
        file.writelines(data)
    return path


def many_files(path: Path, count: int, content: str = "", ending: str = ".txt") -> Path:
    """A zip file of many small files."""
    with zipfile.ZipFile(path, "w") as packed:
        for number in range(count):
            packed.writestr(f"{number}{ending}", content)
    return path


def zip_of_zipped(path: Path, pieces: int) -> Path:
    """A zip file of gzipped files."""
    packed_lines = gzip.compress(b'{"messages": [{"role": "a", "content": "' + b"x" * (40 * MB) + b'"}]}\n')
    with zipfile.ZipFile(path, "w") as packed:
        for number in range(pieces):
            packed.writestr(f"{number}.jsonl.gz", packed_lines)
    return path


def parquet(path: Path, columns: dict[str, pa.Array], **options: Any) -> Path:
    """A Parquet file of columns, in which what returns is written once."""
    pq.write_table(
        pa.table(columns), path, store_schema=False, dictionary_pagesize_limit=1 << 30, compression="zstd", **options
    )
    return path


def same(value: str, count: int) -> pa.Array:
    """A column of one value."""
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), count), pa.array([value]))


def in_one_list(values: pa.Array) -> pa.Array:
    """A column of one cell, a list of these values."""
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)


def mail(headers: str, body: str) -> str:
    """An e-mail of an .mbox file."""
    return f"From a@b Mon Jan  5 10:00:00 2026\nFrom: a@b\n{headers}\n{body}\n"


def chat(content: str = "hi", labels: str = "") -> str:
    """A line of chat JSONL."""
    return f'{{"messages": [{{"role": "a", "content": "{content}"}}]{labels}}}\n'


_TABLE = "conversation_id,speaker,text"
_TIMES = "00:01.000 --> 00:02.000\n"
# name -> the file
FILES: dict[str, Callable[[Path], Path]] = {
    "nine million empty rows of a workbook": lambda d: workbook(d / "a.xlsx", _HEAD + "<row/>" * 9_000_000),
    "200,000 rows in the last column": lambda d: workbook(
        d / "a.xlsx", _HEAD + "".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(2, 200_002))
    ),
    "cells merged down all columns": lambda d: workbook(
        d / "a.xlsx",
        _HEAD + "<row><c><v>1</v></c></row>" * 200_000,
        others='<mergeCells><mergeCell ref="XFD2:XFD1048576"/></mergeCells>',
    ),
    "one part as 20,000 sheets": lambda d: workbook(d / "a.xlsx", "<row/>" * 20_000, sheets=20_000),
    "a last row without those before it, in 400 sheets": lambda d: workbook(
        d / "a.xlsx", '<row r="1048575"/>', sheets=400
    ),
    "a million styles": lambda d: workbook(
        d / "a.xlsx",
        _HEAD,
        files={"xl/styles.xml": f"<styleSheet><cellXfs>{'<xf/>' * 8_000_000}</cellXfs></styleSheet>"},
    ),
    "40 gzipped lines of 60 MB": lambda d: text(d / "a.jsonl.gz", (chat("x" * (60 * MB)) for _ in range(40))),
    "a gzipped line of 20 million values": lambda d: text(
        d / "a.jsonl.gz", ['{"messages": [], "x": [', *(["{}," * 100_000] * 200), "{}]}\n"]
    ),
    "gzipped rows of a table": lambda d: text(d / "a.csv.gz", [f"{_TABLE}\n", *(["1,a,b\n" * 100_000] * 500)]),
    "gzipped empty lines": lambda d: text(d / "a.txt.gz", ["Ann: a\nBen: b\nAnn: c\n", *(["\n" * MB] * 4000)]),
    "a row of 200,000 labels": lambda d: text(
        d / "a.jsonl", chat(labels="".join(f', "k{n}": {n}' for n in range(200_000)))
    ),
    "200,000 columns of a table": lambda d: text(
        d / "a.csv",
        f"{_TABLE},{','.join(f'k{n}' for n in range(200_000))}\n" + f"1,a,b{',1' * 200_000}\n" * 20,
    ),
    "a label of its own for each of 200,000 messages": lambda d: text(
        d / "a.jsonl",
        '{"messages": [' + ",".join(f'{{"role":"a","content":"","k{n}":1}}' for n in range(200_000)) + "]}\n",
    ),
    "a label of its own for each of 200,000 rows": lambda d: text(
        d / "a.jsonl", (chat(labels=f', "k{n}": {n}') for n in range(200_000))
    ),
    "200,000 columns named date": lambda d: text(d / "a.csv", f"{_TABLE}{',date' * 200_000}\n1,a,b{',x' * 200_000}\n"),
    "a zip of 99,000 empty files": lambda d: many_files(d / "a.zip", 99_000),
    "a zip of 60,000 chats of one line": lambda d: many_files(d / "a.zip", 60_000, chat(), ".jsonl"),
    "a zip of 40 gzipped lines of 40 MB": lambda d: zip_of_zipped(d / "a.zip", 40),
    "1.6 million rows of six bytes": lambda d: text(d / "a.csv", [f"{_TABLE}\n", *(["1,a,b\n"] * 1_600_000)]),
    "1.4 million conversations of a table": lambda d: text(
        d / "a.csv", [f"{_TABLE}\n", *(f"{n},,b\n" for n in range(900_000))]
    ),
    "three million empty objects": lambda d: text(
        d / "a.json", '[{"messages": [{"role": "a", "content": "b"}]}' + ",{}" * 3_300_000 + "]"
    ),
    "a million empty messages": lambda d: text(
        d / "a.json", '[{"messages":[{"role":"a","content":""}' + ',{"role":"a","content":""}' * 380_000 + "]}]"
    ),
    "captions of 400,000 equal lines": lambda d: text(
        d / "a.vtt",
        f"WEBVTT\n\n{_TIMES}{'x<00:01.500>' + chr(10)}"
        + f"{'x' + chr(10)}" * 400_000
        + f"\n{_TIMES}"
        + f"{'x' + chr(10)}" * 400_000,
    ),
    "300,000 captions": lambda d: text(d / "a.vtt", ["WEBVTT\n\n", *([f"{_TIMES}x\n\n"] * 300_000)]),
    "a chat of 500,000 lines": lambda d: text(d / "a.txt", ["1/1/24, 1:00 - a: b\n"] * 500_000),
    "Parquet: a text of a megabyte in a million rows": lambda d: parquet(
        d / "a.parquet",
        {"conversation_id": same("1", MB), "speaker": same("a", MB), "text": same("x" * MB, MB)},
    ),
    "Parquet: that text in a million messages of one row": lambda d: parquet(
        d / "a.parquet",
        {"messages": in_one_list(pa.StructArray.from_arrays([same("a", MB), same("x" * MB, MB)], ["role", "content"]))},
    ),
    "Parquet: 200 million empty cells of a list": lambda d: parquet(
        d / "a.parquet", {"messages": in_one_list(pa.nulls(200 * MB, pa.string()))}
    ),
    "Parquet: a text of a gigabyte": lambda d: parquet(
        d / "a.parquet", {"conversation_id": ["1"], "speaker": ["a"], "text": ["x" * (1 << 30)]}, use_dictionary=False
    ),
    "Parquet: texts that repeat the one before them": lambda d: parquet(
        d / "a.parquet",
        {
            "conversation_id": same("1", 1000),
            "speaker": same("a", 1000),
            "text": [f"{'x' * (4 * MB)}{n}" for n in range(1000)],
        },
        use_dictionary=["conversation_id", "speaker"],
        column_encoding={"text": "DELTA_BYTE_ARRAY"},
    ),
    "Parquet: 30,000 columns": lambda d: parquet(d / "a.parquet", {f"k{n}": [1] for n in range(30_000)}),
    "Parquet: a million rows of one text": lambda d: parquet(
        d / "a.parquet", {"conversation_id": same("1", MB), "speaker": same("a", MB), "text": same("x", MB)}
    ),
    "nested JSON of 200,000 lists": lambda d: text(d / "a.json", f'[{{"messages": {"[" * 200_000}'),
    "a key of ten megabytes": lambda d: text(d / "a.jsonl", f'{{"messages": [], "{"k" * (10 * MB - 40)}": 1}}\n'),
    "one shared string in 150,000 cells": lambda d: workbook(
        d / "a.xlsx",
        _HEAD + '<row><c><v>1</v></c><c><v>2</v></c><c t="s"><v>0</v></c></row>' * 150_000,
        files={"xl/sharedStrings.xml": _STRINGS.format("x" * MB)},
    ),
    "a mail of 100,000 nested parts": lambda d: text(
        d / "a.mbox",
        mail(
            'Content-Type: multipart/mixed; boundary="b0"\n',
            "".join(f'--b{n}\nContent-Type: multipart/mixed; boundary="b{n + 1}"\n\n' for n in range(100_000)),
        ),
    ),
    "a mail of a million parts": lambda d: text(
        d / "a.mbox", mail("Content-Type: multipart/mixed; boundary=b\n", "--b\n\nx\n" * 1_000_000)
    ),
    "a mail of a million lines in 80 nested parts": lambda d: text(
        d / "a.mbox",
        mail(
            'Content-Type: multipart/mixed; boundary="b0"\n',
            "".join(f'--b{n}\nContent-Type: multipart/mixed; boundary="b{n + 1}"\n\n' for n in range(80))
            + "x\n" * 4_000_000,
        ),
    ),
    "a mail of 300,000 headers": lambda d: text(d / "a.mbox", mail("X: =?utf-8?q?a?=\n" * 300_000, "x")),
    "mails with ten megabytes of nested tags": lambda d: text(
        d / "a.mbox", mail("Content-Type: text/html\n", "<div><blockquote>" * 500_000)
    ),
    "HTML of 600,000 entities in a table": lambda d: text(d / "a.csv", f"{_TABLE}\n1,a,{'<p>&amp;<a' * 900_000}\n"),
    "captions of nested tags": lambda d: text(d / "a.vtt", f"WEBVTT\n\n{_TIMES}{'<v a><c.x>' * 1_000_000}\n"),
    "a chat of ten megabytes of brackets": lambda d: text(d / "a.txt", f"Ann: a\nBen: b\nAnn: {'(' * (9 * MB)}\n"),
    "JSON in a string in JSON": lambda d: text(d / "a.jsonl", chat("[" * (9 * MB))),
    "200,000 mails": lambda d: text(d / "a.mbox", ["From a@b Mon Jan  5 10:00:00 2026\nFrom: a@b\n\n"] * 200_000),
}


def measured(path: Path) -> tuple[float, float, str]:
    """Processor seconds, megabytes and the answer of reading a file."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (2 * SECONDS, 2 * SECONDS))

    environment = {**os.environ, "HF_DATASETS_CACHE": str(path.parent / "cache"), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", READ, str(path), "90"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=limit
    ) as process:
        output = process.stdout.read().decode() if process.stdout else ""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    answer = output.strip() or f"ended by {process.returncode}"
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, answer


def run(words: Iterable[str]) -> int:
    """Print a row for each attack whose name has one of these words; return 1 if one is out of bounds."""
    words, failed = list(words), 0
    print("| file | MB | processor s | memory MB | answer |\n|---|---|---|---|---|")
    for name, make in FILES.items():
        if words and not any(word in name for word in words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            # by another process, whose memory does not count as that of the reading one
            maker = multiprocessing.get_context("fork").Process(target=make, args=(Path(folder),))
            maker.start()
            maker.join()
            (path,) = Path(folder).iterdir()
            size = path.stat().st_size / MB
            seconds, memory, answer = measured(path)
        is_over = seconds > SECONDS or memory > MEGABYTES
        failed |= is_over
        mark = " **over**" if is_over else ""
        print(f"| {name} | {size:.1f} | {seconds:.1f}{mark} | {memory:.0f} | {answer} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
