import gzip
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chat_cases import chat, read_jsonl, write_jsonl
from turnlens._utils.files import only_writer
from turnlens.data.conversations import convert_conversations, read_conversations
from turnlens.errors import ConversationError


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_converted_files_read_back_the_same(tmp_path: Path, name: str) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", [chat("né", "hi", id="a", topic="t"), chat("x", id="b", topic=None)])
    output = tmp_path / name
    assert convert_conversations(source, output=output) == 2
    assert read_conversations(output).to_list() == read_conversations(source).to_list()
    text = (gzip.decompress(output.read_bytes()) if name.endswith("gz") else output.read_bytes()).decode()
    assert [json.loads(line) for line in text.splitlines()][1] == chat("x", id="b")
    assert "né" in text


def test_conversion_overwrites_only_with_force(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", [chat("hello", id="a")])
    output = write_jsonl(tmp_path / "out.jsonl", [chat("old", id="old")])
    with pytest.raises(FileExistsError):
        convert_conversations(source, output=output)
    assert convert_conversations(source, output=output, force=True) == 1
    assert read_jsonl(output) == [chat("hello", id="a")]
    with pytest.raises(ValueError, match=r"\.jsonl"):
        convert_conversations(source, output=tmp_path / "out.csv")


def test_failed_conversion_leaves_nothing(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", [chat("hello")] * 50 + [chat()])
    with pytest.raises(ConversationError):
        convert_conversations(source, output=tmp_path / "out" / "chat.jsonl")
    assert not any((tmp_path / "out").iterdir())
    assert convert_conversations(source, output=tmp_path / "out" / "chat.jsonl", on_error="skip") == 50


class Interrupted:
    """Conversations that end with Ctrl-C."""

    def __iter__(self) -> Iterator[Any]:
        yield from (chat("new", id=str(number)) for number in range(2000))
        raise KeyboardInterrupt


def test_interrupted_conversion_keeps_the_old_file(tmp_path: Path) -> None:
    output = write_jsonl(tmp_path / "out.jsonl", [chat("old", id="old")])
    with pytest.raises(KeyboardInterrupt):
        convert_conversations(Interrupted(), output=output, force=True)
    assert read_jsonl(output) == [chat("old", id="old")]
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


def test_numbers_unknown_to_json_become_null(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    row = '{"id": "a", "messages": [{"role": "user", "content": "x", "score": NaN}], "loss": Infinity}'
    (tmp_path / "in.jsonl").write_text(row, encoding="utf-8")
    with caplog.at_level(logging.WARNING, logger="turnlens"):
        convert_conversations(tmp_path / "in.jsonl", output=tmp_path / "out.jsonl")
    message = {"role": "user", "content": "x", "score": None}
    assert read_jsonl(tmp_path / "out.jsonl") == [{"id": "a", "messages": [message], "loss": None}]
    assert "NaN" not in (tmp_path / "out.jsonl").read_text() and "null for 2 numbers" in caplog.text


def test_outputs_among_inputs_are_refused(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in" / "a.jsonl", [chat("hello", id="a")])
    (tmp_path / "link").symlink_to(tmp_path / "in")
    for output in (tmp_path / "in" / "b.jsonl", tmp_path / "in" / "deep" / "b.jsonl", tmp_path / "link" / "b.jsonl"):
        with pytest.raises(ValueError, match=r"b\.jsonl lies in .*in, which is read: choose a place outside"):
            convert_conversations(tmp_path / "in", output=output, force=True)
    for paths in (source, tmp_path / "in" / "*.jsonl", [source, source]):
        with pytest.raises(ValueError, match=r"a\.jsonl is also read: choose another name"):
            convert_conversations(paths, output=source, force=True)
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["a.jsonl"]
    assert convert_conversations(source, output=tmp_path / "in" / "b.jsonl") == 1


def test_outputs_of_other_runs_are_refused(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", [chat("hello", id="a")])
    with only_writer(tmp_path / "out.jsonl"), pytest.raises(BlockingIOError, match=rf"by process {os.getpid()} on "):
        convert_conversations(source, output=tmp_path / "out.jsonl", force=True)
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(ConversationError, match=r"pipe\.jsonl: is not a regular file; pipe what it gives"):
        convert_conversations(tmp_path / "pipe.jsonl", output=tmp_path / "out.jsonl")
