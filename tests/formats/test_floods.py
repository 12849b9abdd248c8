"""Text made to keep a pattern busy: these end soon, where work that grew with the square would take minutes."""

from pathlib import Path

from format_cases import read, write
from turnlens.formats.html_text import html_text, without_markup
from turnlens.formats.mbox import without_quoted_mail
from turnlens.formats.transcript import named_line

N = 30_000
MARK = "\u200e"
HTML = ("<", "<a ", "<!--", "</", "<!", "<?", "<blockquote>", "&", "<p>", "<p ", "<b>x", "<p\t")
MAILS = ("-" * N + "x", "_" * N, "x:\n" * N + "> a", "---x---\n" * N, ">\n" * N, "-- x\n" * N)
NAMES = ("12:30" + " " * N, "a " * N, "*" * N, "(" * N, "a (" * N)
CHATS = ("<a: b.c" * N, "a.bc " * N, "<a: " + "a.b" * N, "<" * N, "x" + " " * N + "y", f"{MARK}<" * N, "\nmore" * N)
CAPTIONS = ("<v a" * N, "<v" + " \t" * N, "</" * N, "<v.a" + "." * N, "x\n" * N)


def test_html_mail_and_names() -> None:
    for html in HTML:
        assert isinstance(html_text(html * N)[0], str)
        assert isinstance(without_markup(html * N), str)
    assert all(map(without_quoted_mail, MAILS))
    assert not any(map(named_line, NAMES))


def test_chats_and_captions(tmp_path: Path) -> None:
    chats = [f"31/12/23, 10:00 - Ann: {text}\n[1{MARK * N}\n" for text in CHATS]
    captions = [f"WEBVTT\n\n00:01.000 --> 00:02.000\n{text}\n" for text in CAPTIONS]
    for name, contents in (("chat.txt", chats), ("a.vtt", captions)):
        for content in contents:
            (row,) = read(write(tmp_path / name, content))
            assert len(row["messages"]) == 1
