"""Every layout is detected among all others and read, whatever its encoding or packing."""

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

# Lines, one JSON value, a table and text; other endings are read as one of these.
_ENCODED = ("parts.jsonl", "conversations.json", "t.csv", "_chat.txt")


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Path]]:
    """The sample files, each with the name of its format."""
    folder = tmp_path_factory.mktemp("samples")
    return [
        (format, write(folder / f"{number:03}" / name, content))
        for number, (format, name, content) in enumerate(SAMPLES)
    ]


def _messages(path: Path) -> list[list[Any]]:
    return [row["messages"] for row in read(path)]


def test_every_sample_is_detected_in_every_packing(paths: list[tuple[str, Path]], tmp_path: Path) -> None:
    assert {format for format, _ in paths} == set(FORMATS)
    for format, path in paths:
        assert detect_format(Source(path)).name == format, path
        raw = path.read_bytes()
        packed = tmp_path / f"{path.name}.gz"
        packed.write_bytes(gzip.compress(raw))
        assert detect_format(Source(packed)).name == format, path
        for data in (raw, packed.read_bytes()):  # as the standard input, which has no name
            spooled = tmp_path / f"stdin{ending_of(data)}"
            spooled.write_bytes(data)
            assert detect_format(Source(spooled)).name == format, path


def test_a_folder_reads_like_its_files(paths: list[tuple[str, Path]], tmp_path: Path) -> None:
    expected, logs = [], set()
    for number, (format, path) in enumerate(paths):
        rows = _messages(path)
        assert all(message["role"] for messages in rows for message in messages), path
        if FORMATS[format].spans_files and format in logs:  # all their samples are of one session, and would be joined
            continue
        logs.add(format)
        write(tmp_path / "all" / f"{number:03}" / path.name, path.read_text(encoding="utf-8"))
        expected += rows
    expected += _messages(write_slack_export(tmp_path / "all" / "999"))
    texts = [[[message["content"] for message in row] for row in rows] for rows in (expected,)]
    assert [[[message["content"] for message in row] for row in _messages(tmp_path / "all")]] == texts


@pytest.mark.parametrize("name", _ENCODED)
def test_other_encodings_and_packing_change_nothing(paths: list[tuple[str, Path]], tmp_path: Path, name: str) -> None:
    original = next(path for _, path in paths if path.name == name)
    raw, expected = original.read_bytes(), _messages(original)
    utf16 = raw.decode().encode("utf-16")
    path = tmp_path / name
    for data in (utf16, b"\xef\xbb\xbf" + raw):
        path.write_bytes(data)
        assert _messages(path) == expected
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(utf16))
    assert _messages(packed) == expected
    spooled = tmp_path / f"stdin{ending_of(packed.read_bytes())}"
    spooled.write_bytes(packed.read_bytes())
    assert _messages(spooled) == expected
