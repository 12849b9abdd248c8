"""Properties of every input: each check returns, or raises what is a finding."""

import json
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import datasets

from turnlens._utils.text_values import strict_json
from turnlens.data.conversation_files import write_arrow
from turnlens.data.conversation_reader import SkippedRows, read_files
from turnlens.data.conversations import iterate_conversations
from turnlens.data.inspection import Inspection
from turnlens.data.personal.redaction import Redaction
from turnlens.data.read_options import ReadingOptions
from turnlens.errors import ConversationError
from turnlens.training.recipes import get_recipe, read_recipe

_SECONDS = 20


def check_reading(path: Path, format: str = "auto", columns: str | None = None) -> None:
    """Conversations are read whole or refused with the place; what is read can be counted, stored and written."""
    with in_time():
        rows: list[dict[str, Any]] = []
        for on_error in ("raise", "skip"):
            options = ReadingOptions.of(
                format=format, on_error=on_error, columns=columns, redact="all" if on_error == "skip" else None
            )
            try:
                rows = list(read_files([path], options, SkippedRows(on_error)))
            except ConversationError as error:
                assert str(path) in error.where, error
                rows = []
        counts = Inspection()
        for row in rows:
            assert isinstance(row["id"], str) and row["messages"]
            for message in row["messages"]:
                assert message["role"] and isinstance(message["role"] + message["content"], str)
            text, _ = strict_json(row)
            assert json.loads(text, parse_constant=_refuse)["id"] == row["id"]
            text.encode()
            counts.add(row)
        if not rows:
            return
        assert strict_json(counts.summary())
        with tempfile.TemporaryDirectory() as folder:
            try:
                write_arrow(rows, Path(folder) / "rows.arrow")
            except ConversationError as error:
                assert error.where == "labels", error
                return
            stored = datasets.Dataset.from_file(str(Path(folder) / "rows.arrow"))
            assert [said(row) for row in stored] == [said(row) for row in rows]


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not valid JSON")


def said(row: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """The id of a conversation, and who says what."""
    return row["id"], [(message["role"], message["content"]) for message in row["messages"]]


def refused(read: Callable[[Path], object]) -> Callable[[Path, str], None]:
    """A check that a path is read, or refused with an error that names it."""

    def check(path: Path, format: str = "") -> None:
        with in_time():
            try:
                read(path)
            except (ValueError, OSError) as error:
                assert str(path) in str(error), error

    return check


def check_redaction(content: bytes) -> None:
    """Personal data is found in time in proportion to the text, and all else of it stays."""
    text = content.decode("utf-8", "replace")
    redaction = Redaction.parse("all")
    with in_time():
        finds = redaction.finds(text)
        redacted = redaction.text(text)
    done, kept = 0, []
    for start, end, placeholder in finds:
        assert done <= start < end <= len(text), (start, end)
        kept += [text[done:start], placeholder]
        done = end
    assert redacted == "".join(kept) + text[done:]


def check_columns(path: Path, format: str) -> None:
    """Do the same with columns that are named."""
    columns = "conversation=conversation_id,speaker=author.role,text=text,time=created_at,ignore=id"
    check_reading(path, columns=columns)


def read_packed(path: Path) -> None:
    """Read the files of an archive or a workbook, which may be bad."""
    for on_error in ("raise", "skip"):
        list(iterate_conversations(path, on_error=on_error))


def read_settings(path: Path) -> None:
    """Read the settings of a recipe."""
    method, settings, preset = read_recipe(path)
    with suppress(ValueError):  # of a setting, which may also come from the command line
        get_recipe(method, settings=settings, preset=preset)


@contextmanager
def in_time() -> Iterator[None]:
    """Endless work is a finding too; counted in time of the processor, so that other processes do not matter."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"not done after {_SECONDS} seconds of the processor")

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
