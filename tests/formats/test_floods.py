"""Text made to keep a pattern busy: these end soon, where work that grew with the square would take minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from format_cases import read, write
from turnlens.formats.html_text import html_text, without_markup
from turnlens.formats.mbox import own_text
from turnlens.formats.transcript import named_line

N = 50_000
MARK = "\u200e"


@pytest.mark.parametrize(
    "html", ["<", "<a ", "<!--", "</", "<!", "<?", "<blockquote>", "&", "<p>", "<p ", "<b>x", "<p\t"]
)
def test_html(html: str) -> None:
    assert isinstance(html_text(html * N)[0], str)
    assert isinstance(without_markup(html * N), str)


@pytest.mark.parametrize("text", ["-" * N + "x", "_" * N, "x:\n" * N + "> a", "---x---\n" * N, ">\n" * N, "-- x\n" * N])
def test_e_mails(text: str) -> None:
    assert own_text(text)


@pytest.mark.parametrize("line", ["12:30" + " " * N, "a " * N, "*" * N, "(" * N, "a (" * N])
def test_names(line: str) -> None:
    assert named_line(line) is None


@pytest.mark.parametrize(
    "text", ["<a: b.c" * N, "a.bc " * N, "<a: " + "a.b" * N, "<" * N, "x" + " " * N + "y", f"{MARK}<" * N, "\nmore" * N]
)
def test_chats(tmp_path: Path, text: str) -> None:
    (row,) = read(write(tmp_path / "chat.txt", f"31/12/23, 10:00 - Ann: {text}\n[1{MARK * N}\n"))
    assert len(row["messages"]) == 1


@pytest.mark.parametrize("text", ["<v a" * N, "<v" + " \t" * N, "</" * N, "<v.a" + "." * N, "x\n" * N])
def test_captions(tmp_path: Path, text: str) -> None:
    (row,) = read(write(tmp_path / "a.vtt", f"WEBVTT\n\n00:01.000 --> 00:02.000\n{text}\n"))
    assert len(row["messages"]) == 1
