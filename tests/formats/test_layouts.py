"""Every layout is detected among all others, and read."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from format_cases import read, write
from samples import SAMPLES, write_slack_export
from turnlens.formats import FORMATS
from turnlens.formats.detection import detect_format
from turnlens.formats.input_files import ending_of
from turnlens.formats.source_file import Source

_IDS = [f"{format}-{name}" for format, name, _ in SAMPLES]


@pytest.mark.parametrize(("format", "name", "content"), SAMPLES, ids=_IDS)
def test_every_layout_is_detected_and_read(tmp_path: Path, format: str, name: str, content: Any) -> None:
    path = write(tmp_path / name, content)
    assert detect_format(Source(path)).name == format
    rows = read(path)
    assert rows == read(path, format)
    assert all(message["role"] for row in rows for message in row["messages"])


@pytest.mark.parametrize(("format", "name", "content"), SAMPLES, ids=_IDS)
def test_every_layout_in_utf_16_and_compressed(tmp_path: Path, format: str, name: str, content: Any) -> None:
    path = write(tmp_path / name, content)
    rows = read(path)
    if format != "mbox":  # a file of bytes, whose messages have encodings of their own
        path.write_bytes(path.read_text(encoding="utf-8").encode("utf-16"))
        assert read(path) == rows
        path.write_bytes("\ufeff".encode("utf-8") + path.read_bytes().decode("utf-16").encode("utf-8"))
        assert read(path) == rows
    packed = path.with_name(f"{name}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed) == rows


@pytest.mark.parametrize(("format", "name", "content"), SAMPLES, ids=_IDS)
def test_every_layout_is_read_from_the_standard_input(tmp_path: Path, format: str, name: str, content: Any) -> None:
    path = write(tmp_path / name, content)
    said = [row["messages"] for row in read(path)]
    for number, data in enumerate((path.read_bytes(), gzip.compress(path.read_bytes()))):
        spooled = tmp_path / f"stdin{number}{ending_of(data)}"
        spooled.write_bytes(data)
        assert [row["messages"] for row in read(spooled)] == said


def test_there_is_a_sample_of_every_format() -> None:
    assert {format for format, _, _ in SAMPLES} == set(FORMATS)


def test_a_folder_of_all_layouts_is_read_at_once(tmp_path: Path) -> None:
    expected, logs = [], set()
    for number, (format, name, content) in enumerate(SAMPLES):
        if FORMATS[format].goes_on and format in logs:  # all their samples are of one session, and would be joined
            continue
        logs.add(format)
        expected += read(write(tmp_path / "all" / f"{number:03}" / name, content))
    expected += read(write_slack_export(tmp_path / "all" / "999"))
    said = [[message["content"] for message in row["messages"]] for row in read(tmp_path / "all")]
    assert said == [[message["content"] for message in row["messages"]] for row in expected]
