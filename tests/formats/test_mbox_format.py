from itertools import product
from pathlib import Path

import pytest

from format_cases import read, write
from samples import MBOX
from turnlens.errors import ConversationError
from turnlens.formats.html_text import html_text
from turnlens.formats.mbox import without_quoted_mail


def test_threads_in_the_order_of_their_dates(tmp_path: Path) -> None:
    thread, lone = read(write(tmp_path / "inbox.mbox", MBOX))
    assert thread == {
        "id": "<1@example.com>",
        "title": "🍰 cake",
        "messages": [
            {
                "role": "Änn",
                "content": "Grüße 🙂\n-- \nÄnn",
                "address": "ann@example.com",
                "time": "2024-05-01T10:00:00+02:00",
                "message_id": "<1@example.com>",
            },
            {
                "role": "Änn",
                "content": "مرحبا",
                "address": "ann@example.com",
                "time": "2024-05-01T11:00:00+02:00",
                "message_id": "<2@example.com>",
                "reply_to": "<1@example.com>",
            },
            {
                "role": "ben@example.com",
                "content": "שלום",
                "address": "ben@example.com",
                "time": "2024-05-01T12:00:00+02:00",
                "message_id": "<3@example.com>",
                "reply_to": "<2@example.com>",
                "attachments": ["file: plan.pdf"],
            },
        ],
    }
    assert lone["id"] == "inbox-4"
    assert [message["content"] for message in lone["messages"]] == ["Hello?"]


def test_a_message_held_twice_is_read_once(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.mbox", MBOX + MBOX))[0] == read(write(tmp_path / "b.mbox", MBOX))[0]


@pytest.mark.parametrize(
    "headers",
    [
        "From: a@b.c\nDate: yesterday\nContent-Type: text/plain; charset=klingon\n",
        "From: a@b.c\nDate:\nContent-Type: nonsense\nReferences: <<>>\n",
        "From: a@b.c\nMessage-ID: <x@y\nContent-Type: multipart/mixed\n",
    ],
)
def test_malformed_headers(tmp_path: Path, headers: str) -> None:
    (row,) = read(write(tmp_path / "a.mbox", f"From x Wed May  1 10:00:00 2024\n{headers}\nHello\n"), "mbox")
    assert (row["messages"][0]["role"], row["messages"][0]["content"]) == ("a@b.c", "Hello")


def test_hostile_headers_are_passed_over(tmp_path: Path) -> None:
    names = ["To", "Subject", "References", "Content-Type", "Content-Disposition", "Date"]
    for name, value in product(names, ["(" * 5_000, "a:" * 5_000, "(a)" * 40_000, "=?utf-8?q?" * 500]):
        mail = f"From x Wed May  1 10:00:00 2024\nFrom: Ann <a@b.c>\n{name}: {value}\n\nHello\n"
        (row,) = read(write(tmp_path / "a.mbox", mail), "mbox")
        assert [(message["role"], message["content"]) for message in row["messages"]] == [("Ann", "Hello")]


@pytest.mark.parametrize("sender", ["(" * 5_000, "(" * 200_000 + "a@b.c", "a:" * 5_000, "<" * 100_000, ","])
def test_unreadable_senders_are_one_error(tmp_path: Path, sender: str) -> None:
    mails = "".join(f"From x Wed May  1 10:00:00 2024\nFrom: {name}\n\nHello\n\n" for name in ("a@b.c", sender))
    path = write(tmp_path / "a.mbox", mails)
    with pytest.raises(ConversationError, match=r"a\.mbox:2: an e-mail has no sender in 'From' that can be read"):
        read(path, "mbox")
    assert [row["messages"][0]["role"] for row in read(path, "mbox", on_error="skip")] == ["a@b.c"]


def parts(kind: str, *texts: str) -> str:
    inside = "".join(f"--b\nContent-Type: {text}\n" for text in texts)
    return f'Content-Type: multipart/{kind}; boundary="b"\n\n{inside}--b--\n'


FLOWED = "text/plain; format=flowed"
PICTURE = 'image/png; name="a.png"\nContent-Disposition: inline\n\nAAAA'


@pytest.mark.parametrize(
    ("body", "content"),
    [
        (parts("alternative", "text/plain\n\n \n", "text/html\n\n<p>Only here"), "Only here"),
        (parts("alternative", "text/plain\n\nplain", "text/html\n\n<p>rich"), "plain"),
        (parts("mixed", "text/plain\n\nbefore", PICTURE, "text/plain\n\nbehind"), "before\nbehind"),
        (parts("mixed", "text/plain\n\nthe same", "text/html\n\n<p>the\n same"), "the same"),
        (parts("mixed", "text/plain\n\nsee", 'text/plain; name="a.log"\n\n0 1'), "see"),
        (parts("mixed", "text/plain\n\nYes.\n> Really?", PICTURE, "text/plain\n\nThe list"), "Yes.\nThe list"),
        (parts("mixed", "text/plain\n\nYes.", PICTURE, "text/plain\n\nBen wrote 1.5.:\n> Really?"), "Yes."),
        (
            f"Content-Type: {FLOWED}\n\nA line \ngoes \n on.\n\nNew. \n\n> x \n> y\nz",
            "A line goes on.\n\nNew. \n\n> x \n> y\nz",
        ),
        (f"Content-Type: {FLOWED}; delsp=yes\n\nAb \ncd", "Abcd"),
    ],
)
def test_all_text_that_is_shown_is_read_once(tmp_path: Path, body: str, content: str) -> None:
    first = "From x Wed May  1 10:00:00 2024\nFrom: a@b.c\nMessage-ID: <1@b>\n\nReally?\n"
    second = f"\nFrom x Wed May  1 10:00:00 2024\nFrom: b@b.c\nReferences: <1@b>\n{body}\n"
    (row,) = read(write(tmp_path / "a.mbox", first + second))
    assert row["messages"][1]["content"] == content


ANSWERED = "> Really?\nYes.\n> When?\nNow."
OUTLOOK = "Yes.\n\n________________________________\nVon: Ann\nGesendet: Mai\nAn: Ben\n\nReally?"


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("Yes.\n\nAm 1. Mai 2024 schrieb Ann <a@b.c>:\n\n> Really?\n>\n> A.\n", "Yes."),
        ("Yes.\n\n2024年5月1日 Ann 写道：\n> Really?", "Yes."),
        ("Yes, these:\n> Really?", "Yes, these:"),
        (ANSWERED, ANSWERED),
        ("> only a quotation", "> only a quotation"),
        (OUTLOOK, "Yes."),
        ("Yes.\n-----Original Message-----\nFrom: Ann\nSent: May\n\nReally?", "Yes."),
        ("Yes.\n-- \nBen\n0123", "Yes."),
        ("one\n---\ntwo: x\nthree", "one\n---\ntwo: x\nthree"),
    ],
)
def test_quoted_mail_and_signatures_are_left_out(text: str, own: str) -> None:
    assert without_quoted_mail(text) == own
    assert without_quoted_mail(text.replace("\n", "\r\n")).replace("\r\n", "\n") == own


def test_text_of_html() -> None:
    quoted = "<blockquote>a<blockquote>b</blockquote></blockquote>"
    html = f"<style>x</style><div>Hi &amp; bye</div><ul><li>one<li>two</ul>{quoted}c"
    assert html_text(html) == ("Hi & bye\none\ntwo\n> a\n> > b\nc", [])
    assert html_text("a <!-- <p>unseen</p> --> < b <!-- <i>seen</i>") == ("a < b <!-- seen", [])
