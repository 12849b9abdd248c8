"""Personal data becomes placeholders, and nothing keeps it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_cases import write_jsonl
from format_cases import without_none

from turnwise.data.conversations import convert_conversations, read_conversations
from turnwise.data.personal_data import cards, emails, names_finder, phones, urls
from turnwise.data.redaction import Redaction

CARD = "4111 1111 1111 1111"  # the number that payment services give for trying things out


def found(finder: Any, text: str) -> list[str]:
    return [text[start:end] for start, end in finder(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write to jane.doe+x@mail.example.co.uk.", ["jane.doe+x@mail.example.co.uk"]),
        ("请发到zhang@example.com谢谢", ["zhang@example.com"]),
        ("jörg.müller@münchen.example, o'brien@x.org", ["jörg.müller@münchen.example", "o'brien@x.org"]),
        ("@someone at a@b", []),
    ],
)
def test_emails(text: str, expected: list[str]) -> None:
    assert found(emails, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://x.example/a?b=c), or www.x.example.", ["https://x.example/a?b=c", "www.x.example"]),
        ("网址https://x.example/页，好", ["https://x.example/页"]),
        ("e.g. this", []),
    ],
)
def test_urls(text: str, expected: list[str]) -> None:
    assert found(urls, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"2 x {CARD} 12/27, thanks", [CARD]),
        ("卡号4111111111111111。", ["4111111111111111"]),
        ("378282246310005 and 4242-4242-4242-4242", ["378282246310005", "4242-4242-4242-4242"]),
        (f"{CARD} 4242 4242 4242 4242", [CARD, "4242 4242 4242 4242"]),
        ("order 4111 1111 1111 1112 of 1700000000000", []),  # the check digit is wrong; no card begins with 1
    ],
)
def test_cards_are_checked(text: str, expected: list[str]) -> None:
    assert found(cards, text) == expected


@pytest.mark.parametrize(
    "number",
    [
        "+44 20 7946 0958", "+49 (0) 171 1234567", "(415) 555-2671", "415-555-2671", "4155552671", "1-800-555-0199",
        "0171 1234567", "030/1234567", "06 12 34 56 78", "06.12.34.56.78", "13912345678", "+86 139 1234 5678",
    ],
)  # fmt: skip
def test_phones_in_the_notations_of_many_countries(number: str) -> None:
    assert found(phones, f"Order 12345 {number}, call tel:{number} 请打{number}谢谢") == [number] * 3


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-31 10:30", "31.05.2024 10:30", "01-02-24", "1 000 000", "12 000 000 000", "1,234,567",
        "192.168.100.12", "order 123456789", "1999-2001", "12345-6789", "1700000000", "10 20 30 40 50", CARD,
        "from 9-5",
        "978-3-16-148410-0",
    ],
)  # fmt: skip
def test_other_numbers_are_no_phones(text: str) -> None:
    assert found(phones, text) == []


def test_names_are_found_as_a_whole_in_any_case() -> None:
    find = names_finder(["Jane", "Jane  Doe", "王小明", "O'Brien", "Li", "A+"])
    text = "jane\tdoe's card, Janet, JANE; 我是王小明的 o'brien linen li a+"
    assert found(find, text) == ["jane\tdoe", "JANE", "王小明", "o'brien", "li", "a+"]


def test_placeholders_stand_where_the_data_stood() -> None:
    redaction = Redaction.parse("all")
    text = f"Mail jane@www.x.org, see https://x.org/?m=a@b.org or call 415-555-2671 about {CARD}!"
    assert redaction.text(text) == "Mail [email], see [url] or call [phone] about [card]!"
    assert redaction.text(redaction.text(text)) == redaction.text(text)
    assert Redaction.parse("emails").text("see https://x.org/?m=a@b.org") == "see https://x.org/?m=[email]"


SECRETS = ("jane@x.org", "bob@x.org", "415-555-2671", "4155552671", "Jane")


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    messages = [
        {"role": "jane@x.org", "content": "I am Jane: 415-555-2671", "to": ["bob@x.org"], "phone": 4155552671},
        {"role": "bob@x.org", "content": "hello", "phone": 7},
        {"role": "jane@x.org", "content": "bye"},
    ]
    rows = [{"id": "jane@x.org", "messages": messages, "meta": {"owner": "Jane"}}, {"messages": [{"content": "Jane"}]}]
    (tmp_path / "names.txt").write_text("Jane\n", encoding="utf-8")
    return write_jsonl(tmp_path / "talk.jsonl", [*rows, {"messages": [{"role": "u", "content": {"a": "Jane"}}]}])


def test_texts_speakers_ids_and_labels_are_redacted_and_nothing_is_cached(talk: Path, own_cache: Path) -> None:
    redact = f"emails,phones,names={talk.parent / 'names.txt'}"
    (row,) = read_conversations(talk, on_error="skip", redact=redact).to_list()
    assert without_none(row) == {
        "id": "conversation-1",
        "messages": [
            {"role": "[email]", "content": "I am [name]: [phone]", "to": ["[email]"]},
            {"role": "[email] 2", "content": "hello", "phone": 7},
            {"role": "[email]", "content": "bye"},
        ],
        "meta": json.dumps({"owner": "[name]"}),
    }
    kept = b"".join(path.read_bytes() for path in own_cache.rglob("*") if path.is_file())
    assert b"hello" in kept and b"talk.jsonl:2" in kept
    assert [secret for secret in SECRETS if secret.encode() in kept] == []


def test_another_redaction_is_read_anew(talk: Path) -> None:
    def text(redact: str | None) -> str:
        return str(read_conversations(talk, on_error="skip", redact=redact)[0]["messages"][0]["content"])

    names = talk.parent / "names.txt"
    assert text(None) == "I am Jane: 415-555-2671"
    assert text("phones") == "I am Jane: [phone]"
    assert text(f"names={names}") == "I am [name]: 415-555-2671"
    names.write_text("Bob\n", encoding="utf-8")
    assert text(f"names={names}") == "I am Jane: 415-555-2671"


def test_what_is_converted_is_redacted_too(talk: Path) -> None:
    convert_conversations(talk, talk.with_name("out.jsonl"), on_error="skip", redact=Redaction(("emails",)))
    assert "@x.org" not in talk.with_name("out.jsonl").read_text()


@pytest.mark.parametrize(
    ("redact", "problem"),
    [
        ("mails", "found 'mails'; expected some of emails, phones"),
        ("", "found nothing"),
        ("names", "expected names=FILE"),
        ("names=nowhere.txt", "nowhere.txt cannot be read"),
        ("persons=no_such_model", "no such model of spaCy; install one, such as: python -m spacy download"),
    ],
)
def test_what_cannot_be_redacted_is_told_at_once(redact: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Redaction.parse(redact)


def test_a_names_file_must_hold_names(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    for content, problem in ((b"\n", "no names"), (b"\xff", "not UTF-8"), (b"a" * 300, "txt:1: found 300 letters")):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=problem):
            Redaction(names=path)


def test_names_in_running_text(tmp_path: Path) -> None:
    pytest.importorskip("presidio_analyzer", reason="needs the extra redact")
    import spacy

    model = spacy.blank("en")  # a model that knows two words; a real one is larger and knows more
    ruler = model.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "PERSON", "pattern": "Jane"}, {"label": "CITY", "pattern": "Paris"}])
    model.to_disk(tmp_path / "model")
    redaction = Redaction.parse(f"emails,persons={tmp_path / 'model'}")
    assert redaction.text("Jane is in Paris, jane@x.org") == "[name] is in Paris, [email]"
