"""Personal data becomes placeholders, and nothing keeps it."""

import json
import re
from copy import copy
from pathlib import Path
from typing import Any

import pytest

from chat_cases import write_jsonl
from format_cases import without_none
from turnlens.data.conversations import convert_conversations, read_conversations
from turnlens.data.personal import bank_numbers, national_ids, secrets
from turnlens.data.personal import phone_numbers as telephone
from turnlens.data.personal.bank_numbers import cards, ibans
from turnlens.data.personal.person_names import names_finder
from turnlens.data.personal.phone_numbers import phones
from turnlens.data.personal.plain_text import PlainText
from turnlens.data.personal.redaction import Redaction
from turnlens.data.personal.web_addresses import emails, ips, urls

CARD = "4111 1111 1111 1111"  # the number that payment services give for trying things out
IBAN = "DE89 3704 0044 0532 0130 00"


def found(finder: Any, text: str) -> list[str]:
    return [text[start:end] for start, end in finder(text)]


# finder -> texts in which all that it finds stands between « and »
MARKED: dict[Any, list[str]] = {
    emails: [
        "Write to «jane.doe+x@mail.example.co.uk».",
        "请发到«zhang@example.com»谢谢",
        "«jörg.müller@münchen.example», «o'brien@x.org»",
        "@someone at a@b, lodash@4.17.21",
        "'«joe@example.com»'",
        "«ann [at] example (dot) org», «ann%40x.com»",
        "«ann @ example.com», 2 @ 3.50, see @ Joe.Thanks",
        'he said "no", «"john doe"@example.org»',
        "sftp://«u:p@host» and db://«ann:s]c@t@db.example»:1/x",
    ],
    urls: [
        "see «https://x.example/a?b=c»), or «www.x.example».",
        "网址«https://x.example/页»，好",
        "«https://example.com/a_(b)», («https://example.com/a»)",
        "«ftp://user:pw@host» and «db://u@h:1/x»",
        "«shop.example/reset?token=a.b-c».",
        "«192.0.2.1:8080/login?user=a» but 192.0.2.0/24",
        "e.g. this, Node.js/Express, and/or",
    ],
    cards: [
        "2 x «4111 1111 1111 1111» 12/27, thanks",
        "卡号«4111111111111111»。",
        "«378282246310005» and «4242-4242-4242-4242»",
        "«4111 1111 1111 1111» «4242 4242 4242 4242»",
        "«4111 1111\n1111 1111» and «4111 1111 1111\r\n1111»",
        "«4111111111111111»,«4242424242424242»",
        "«4 2 4 2 4 2 4 2 4 2 4 2 4 2 4 2»",
        "4 2 4 2 4 2 4 2 4 2 4 2 4 2 4 2 1 1 1 1",
        "IMEI 356938035643809, EAN 4006381333931",
        "order 4111 1111 1111 1112 of 1700000000000",  # the check digit is wrong; no card begins with 1
    ],
    ibans: [
        "«DE89 3704 0044 0532 0130 00» BIC COBADEFFXXX",
        "«DE89370400440532013000», «gb29nwbk60161331926819»",
        "«DE89 3704 0044\n0532 0130 00»",
        "AB12 «DE89 3704 0044 0532 0130 00»",  # what is none does not hide the one after it
        "DE88 3704 0044 0532 0130 00, DE89 3704 0044 0532 0130, SKU AB12 3456 7890 1234",
    ],
    ips: [
        "«192.0.2.44», 我的IP是«198.51.100.99»，被封了",
        "«192.0.2.1»-«192.0.2.9» «192.0.2.1»:80.",
        "[«2001:db8::1»]:8080, «fe80::1%eth0»: «::ffff:192.0.2.1»",
        "version 1.2.3.4, v1.2.3.4, app-1.2.3.4, 1.2.3.4.5, 10.0.19045.1, 127.0.0.1, ::1, 12:30:45, std::vector",
    ],
    phones: [
        "1. «415-555-0132»\n2. «415-555-0143»",
        "«415-555-0132»/«415-555-0143»,«202-555-0143»",
        "«+44 20 7946 0958» 2024",  # as long as the plan of the country has it
        "call «91234567», phone #: «4155552671», order 4155552671",
    ],
}


def test_each_kind_is_found_where_it_is_marked() -> None:
    for finder, texts in MARKED.items():
        for marked in texts:
            text = marked.translate(dict.fromkeys(map(ord, "«»")))
            assert found(finder, text) == re.findall("«(.+?)»", marked, re.DOTALL), marked


def test_phones_in_the_notations_of_many_countries() -> None:
    for number in [
        "+44 20 7946 0958", "+49 (0) 171 1234567", "(415) 555-2671", "415-555-2671", "4155552671", "1-800-555-0199",
        "00491711234567", "0049 171 1234567", "011 44 20 7946 0018", "+447700900123", "98765 43210", "612 345 678",
        "0171 1234567", "030/1234567", "06 12 34 56 78", "06.12.34.56.78", "13912345678", "+86 139 1234 5678",
    ]:  # fmt: skip
        assert found(phones, f"Order 12345 {number}, call tel:{number} 请打{number}谢谢") == [number] * 3


def test_other_numbers_are_no_phones() -> None:
    for text in [
        "2024-05-31 10:30", "31.05.2024 10:30", "01-02-24", "1 000 000", "12 000 000 000", "1,234,567",
        "192.168.100.12", "order 123456789", "1999-2001", "12345-6789", "1700000000", "10 20 30 40 50", CARD,
        "from 9-5",
        "978-3-16-148410-0", "Order #4155552671", "PO-4155552671", "ticket 2024-123-4567", "order id 415-555-2671",
        "tracking 0034 0434 1610 9404 2557", "+100 000 000", "550e8400-e29b-41d4-a716-446655440000",
        IBAN, "DE88 3704 0044 0532 0130 00", "192.168.100.12 203.0.113.70",
    ]:  # fmt: skip
        assert found(phones, text) == []


def test_signs_of_any_width_and_script_count() -> None:
    redact = Redaction.parse("all").text
    assert redact("［ａｎｎ＠ｅｘａｍｐｌｅ．ｃｏｍ］ or kim＠example.kr") == "［[email]］ or [email]"
    numbers = "４１１１ １１１１ １１１１ １１１１，ＤＥ８９３７０４００４４０５３２０１３０００"
    assert redact(numbers) == "[card]，[iban]"
    assert redact("رقمي ٠٥٠ ١٢٣ ٤٥٦٧ — 0171–123 45 67") == "رقمي [phone] — [phone]"
    assert redact("jane@exam\u200bple.org, 0171\u00a0123\u202f4567") == "[email], [phone]"
    untouched = "ｗｉｄｅ ﬁ e\u0301 １２ \u200b½ m² №…—"
    assert redact(untouched) == untouched


def test_plain_text_leads_back_to_the_original() -> None:
    written = "ﬁn e\u0301\u0301 １\u200b２"
    plain = PlainText.of(written)
    assert plain.text == "fin é\u0301 12"
    assert [written[slice(*plain.as_written((at, at + 1)))] for at in range(len(plain.text))] == [
        "ﬁ", "ﬁ", "n", " ", "e\u0301\u0301", "e\u0301\u0301", " ", "１", "２",
    ]  # fmt: skip


def test_names_are_found_with_any_accent_encoding() -> None:
    find = names_finder(["Zoe\u0308"])
    assert found(find, PlainText.of("zoe\u0308 Zoë").text) == ["zoë", "Zoë"]


HOSTILE = [
    "1 ", "11 ", "4444 ", "0049 ", "+12 34 56 78 ", "12 34 56 78 90 ", "DE89 ", "aa11 ", "4111\n", "612 345 677\n",
    "12 34 56 ", "123456789 ssn ", "sk-a", "eyJaaaaaaaaa.eyJ", "password is ", "-----BEGIN PRIVATE KEY-----",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_work_grows_linearly_with_the_text(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def checked(pieces: int) -> int:
        letters = 0
        with monkeypatch.context() as patch:
            for module, name in (
                (telephone, "phone_rank"),
                (bank_numbers, "is_card"),
                (bank_numbers, "is_iban"),
                (national_ids, "is_valid"),
                (secrets, "is_secret"),
            ):
                original = getattr(module, name)

                def counting(written: str, *more: Any, original: Any = original) -> Any:
                    nonlocal letters
                    letters += len(written)
                    return original(written, *more)

                patch.setattr(module, name, counting)
            Redaction.parse("all").text(piece * pieces)
        return letters

    once, twice = checked(300), checked(600)
    assert twice <= 2 * once + 5000
    assert twice <= 200 * 600 * len(piece)


def test_names_are_found_as_a_whole_in_any_case() -> None:
    find = names_finder(["Jane", "Jane  Doe", "王小明", "O'Brien", "Li", "A+"])
    text = "jane\tdoe's card, Janet, JANE; 我是王小明的 o'brien linen li a+"
    assert found(find, text) == ["jane\tdoe", "JANE", "王小明", "o'brien", "li", "a+"]


def test_placeholders_stand_where_the_data_stood() -> None:
    redaction = Redaction.parse("all")
    text = f"Mail jane@www.x.org, see https://x.org/?m=a@b.org or call 415-555-2671 about {CARD}!"
    assert redaction.text(text) == "Mail [email], see [url] or call [phone] about [card]!"
    assert redaction.text(redaction.text(text)) == redaction.text(text)
    torn = f"{IBAN} from 192.0.2.1"
    assert redaction.text(torn) == "[iban] from [ip]"
    assert Redaction.parse("phones").text(f"{torn} {CARD} 0171 1234567") == f"{torn} {CARD} [phone]"
    assert redaction.text("ftp://jane:pw@192.0.2.1/x") == "[url]"
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


def test_nothing_personal_is_returned_or_cached(talk: Path, own_cache: Path) -> None:
    redact = f"emails,phones,names={talk.parent / 'names.txt'}"
    (row,) = read_conversations(talk, on_error="skip", redact=redact).to_list()
    assert without_none(row) == {
        "id": Redaction(("emails",)).identifier("jane@x.org"),
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


def test_pseudonyms_of_ids_depend_on_their_key(own_cache: Path) -> None:
    of_a_key = Redaction(("emails",), id_key=b"1" * 32)
    pseudonym = of_a_key.identifier("jane@x.org")
    assert "jane" not in pseudonym and of_a_key.identifier("ticket-7") == "ticket-7"
    assert Redaction(("emails",), id_key=b"1" * 32).identifier("jane@x.org") == pseudonym
    kept = Redaction(("emails",))
    names = {redaction.identifier(name) for redaction in (of_a_key, kept) for name in ("jane@x.org", "bob@x.org")}
    assert len(names) == 4
    assert Redaction(("emails",)).identifier("jane@x.org") == kept.identifier("jane@x.org")  # kept beside the cache
    assert b"1" * 32 not in repr(of_a_key).encode() and "1" * 32 not in of_a_key.key


def test_workers_make_the_same_pseudonyms(own_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    redaction = Redaction(("emails",))
    sent = copy(redaction)  # by the state that pickling sends
    here = redaction.identifier("jane@x.org")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "elsewhere"))
    assert sent.identifier("jane@x.org") == here


def test_names_of_files_that_are_personal_give_no_ids(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "jane@x.org.jsonl", [{"messages": [{"role": "u", "content": "a"}]}] * 2)
    names = read_conversations(path, redact="emails")["id"]
    assert len(set(names)) == 2 and "jane" not in "".join(names)


def test_names_of_labels_are_redacted_and_stay_apart(own_cache: Path, tmp_path: Path) -> None:
    names = ["ann@example.org", "bob@example.org", "order_id"]
    messages = [{"role": "u", "content": "a", "tel 0171 1234567": True}]
    path = write_jsonl(tmp_path / "talk.jsonl", [{"messages": messages, **dict.fromkeys(names, "x")}] * 2)
    redact = Redaction.parse("all", id_key=b"1" * 32)
    table = read_conversations(path, redact=redact)
    labels = set(table.column_names) - {"id", "messages"}
    assert len(labels) == 3 and "order_id" in labels and sum(name.startswith("[email] ") for name in labels) == 2
    (message,) = without_none(table[0])["messages"]
    (name,) = set(message) - {"role", "content"}
    assert name.startswith("tel [phone] ") and redact.text(name) == name
    kept = b"".join(file.read_bytes() for file in own_cache.rglob("*") if file.is_file())
    assert b"order_id" in kept and b"example.org" not in kept and b"1234567" not in kept


def test_the_name_of_a_label_is_read_before_its_value() -> None:
    message = {"role": "u", "content": "91234567"}
    for label, value, redacted in [
        ("phone_number", 91234567, None),
        ("PhoneNumber", 91234567.0, None),
        ("mobile no.", "91234567", "[phone]"),
        ("手机号码", "13800138000", "[phone]"),
        ("Telefonnummer", ["91234567"], ["[phone]"]),
        ("order_id", 4155552671, 4155552671),
        ("call_duration_ms", 12345678, 12345678),
        ("phone_number", 0.5, 0.5),
        ("phone_number", True, True),
    ]:
        row = Redaction.parse("all").conversation({"id": "1", "messages": [message], label: value})
        assert row == {"id": "1", "messages": [message], label: redacted}


def test_labels_other_than_texts_and_integers_stay(tmp_path: Path) -> None:
    numbers = {"start": 4155552671.25, "is_new": True, "turn": 4155552671}
    path = write_jsonl(tmp_path / "talk.jsonl", [{"messages": [{"role": "u", "content": "a", **numbers}]}])
    (row,) = read_conversations(path, redact="all").to_list()
    assert row["messages"][0] == {"role": "u", "content": "a", **numbers, "turn": None}


def test_another_redaction_is_read_anew(talk: Path) -> None:
    def text(redact: str | None) -> str:
        return str(read_conversations(talk, on_error="skip", redact=redact)[0]["messages"][0]["content"])

    names = talk.parent / "names.txt"
    assert text(None) == "I am Jane: 415-555-2671"
    assert text("phones") == "I am Jane: [phone]"
    assert text(f"names={names}") == "I am [name]: 415-555-2671"
    names.write_text("Bob\n", encoding="utf-8")
    assert text(f"names={names}") == "I am Jane: 415-555-2671"


def test_converted_files_are_redacted(talk: Path) -> None:
    convert_conversations(talk, output=talk.with_name("out.jsonl"), on_error="skip", redact=Redaction(("emails",)))
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
def test_wrong_redactions_are_refused_at_once(redact: str, problem: str) -> None:
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
