import gzip
import json
from pathlib import Path

import pytest

from format_cases import read, turns, without_none
from samples import HELLO, NIHAO, SALAM
from turnlens.data.conversations import read_conversations
from turnlens.errors import ConversationError
from turnlens.formats.input_files import ending_of

TABLE = f'Ticket ID\tAuthor\tText\n1\tann\t{HELLO}\n1\tben\t"{NIHAO}\n{SALAM}"\n'


def test_a_spreadsheet_saved_as_unicode_text(tmp_path: Path) -> None:
    for name in ("Unicode text.txt", "table.csv", "table.tsv"):
        for encoding, mark in (("utf-16", ""), ("utf-16-be", "\ufeff"), ("utf-16-le", ""), ("utf-16-be", "")):
            path = tmp_path / name
            path.write_bytes((mark + TABLE.replace("\n", "\r\n")).encode(encoding))
            (row,) = read(path)
            messages = [(m["role"], m["content"].replace("\r\n", "\n")) for m in row["messages"]]
            assert (row["id"], messages) == ("1", [("ann", HELLO), ("ben", f"{NIHAO}\n{SALAM}")])


def test_more_text_than_is_decoded_at_once(tmp_path: Path) -> None:
    rows = [{"id": str(number), "messages": turns(f"🙂{number}" * 50, "\u2028")} for number in range(1000)]
    path = tmp_path / "c.jsonl"
    path.write_bytes("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-16"))
    assert read(path) == rows


def test_long_texts_in_utf_16_without_a_mark(tmp_path: Path) -> None:
    rows = [{"id": str(number), "messages": turns(NIHAO * 20, "🙂" * 10)} for number in range(500)]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path = tmp_path / "c.jsonl"
    for encoding in ("utf-16-le", "utf-16-be"):
        path.write_bytes(text.encode(encoding))
        assert read(path) == rows
        assert ending_of(path.read_bytes()) == ".jsonl"


def test_files_cut_off_within_a_character_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_bytes(TABLE.encode("utf-16")[:-1])
    with pytest.raises(ConversationError, match="not UTF-8 text"):
        read(path)


OLDER = [
    ("cp1252", "café"),
    ("cp1252", "It’s late – I’d like €20 back"),
    ("cp1252", "Où est mon colis ? Je suis très déçu, ça fait déjà une semaine."),
    ("cp1252", "Wo bleibt mein Päckchen? Grüße, Jürgen Weiß"),
    ("cp1252", "Não recebi a encomenda, não está aqui"),
    ("cp1250", "Gdzie jest moja paczka? Proszę o zwrot pieniędzy, źle się czuję, żółw"),
    ("cp1250", "Kde je můj balík? Žádám o vrácení peněz, děkuji příště"),
    ("cp1254", "Siparişim nerede? Bir haftadır bekliyorum, çok üzgünüm, ığ"),
    ("mac_roman", "Où est mon colis ? Je suis très déçu, ça fait déjà une semaine."),
    ("cp1251", "Где мой заказ? Я жду уже неделю и очень недоволен."),
    ("koi8_r", "Где мой заказ? Я жду уже неделю и очень недоволен."),
    ("cp1253", "Πού είναι η παραγγελία μου; Περιμένω μία εβδομάδα."),
    ("gb18030", "我的包裹在哪里？我已经等了一个星期了，非常不满意。"),
    ("big5", "我的包裹在哪裡？我已經等了一個星期了，非常不滿意。"),
    ("cp932", "私の荷物はどこですか？もう一週間待っています。"),
    ("cp949", "제 소포는 어디에 있나요? 벌써 일주일째 기다리고 있습니다."),
]


def test_older_encodings_are_decoded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number, (encoding, text) in enumerate(OLDER):
        rows = f"1\tuser\t{'hello ' * 220}\n" * 70 + f"2\tuser\t{text}\n"
        raw = f"conversation_id\tspeaker\ttext\n{rows}".encode(encoding)
        path = tmp_path / ("t.tsv.gz" if number % 2 else "t.tsv")
        path.write_bytes(gzip.compress(raw) if number % 2 else raw)
        caplog.clear()
        assert read(path)[-1]["messages"] == [{"role": "user", "content": text}], encoding
        (message,) = caplog.messages
        assert message.startswith(f"{path}: not UTF-8; read as {encoding}.")


def test_an_encoding_that_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("conversation_id,speaker,text\n1,user,Да é".encode("cp1251", "replace"))
    for encoding, text in (("cp1251", "Да ?"), ("latin-1", "Äà ?")):
        (row,) = (without_none(row) for row in read_conversations(path, encoding=encoding))
        assert row["messages"][0]["content"] == text
    assert not caplog.messages
    with pytest.raises(ConversationError, match="not text in the encoding that is named; leave that out"):
        read_conversations(path, encoding="utf-16")
    for encoding in ("klingon", "base64", ""):
        with pytest.raises(ValueError, match="expected one that Python knows"):
            read_conversations(path, encoding=encoding)


def test_damaged_characters_are_replaced_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tables = [(damage, "t.csv") for damage in (b"\xff", b"\x80\x81\x8d", b"a\x81\x8f\x9d", b"\xe4\xb8", b"\0\xe9")]
    for damage, name in [
        *tables,
        (b"\xff", "t.jsonl"),
        (b"\\ud83d", "t.jsonl"),
        (b"\xff", "t.json"),
        (b"\xff", "t.txt"),
    ]:
        content = {
            "t.csv": b"conversation_id,speaker,text\n1,user,\xc3\xa9\xe4\xbd\xa0 #\n2,user,ok\n",
            "t.jsonl": b'{"id": "#", "messages": [{"role": "user", "content": "\xc3\xa9 #"}]}\n',
            "t.json": b'[{"x#": "#", "messages": [{"role": "#", "content": "\xc3\xa9 #", "y#": ["#"]}]}]',
            "t.txt": b"Ann: \xc3\xa9 #\nBen: yes\nAnn: no\n",
        }[name]
        path = tmp_path / name
        path.write_bytes(content.replace(b"#", damage))
        caplog.clear()
        first, *_ = read(path)
        kept = damage.decode("ascii", "ignore") if b"\\" not in damage else ""
        bad = "".join("�" for byte in damage if byte > 127) or "�"
        assert sorted(first["messages"][0]["content"].removeprefix("é").lstrip("你 ")) == sorted(kept + bad), damage
        (message,) = caplog.messages
        assert message.startswith(f"{path}: "), damage
        assert "characters are not UTF-8, or half of a pair of surrogates; read as U+FFFD" in message


def test_binary_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(bytes(range(256)) * 100)
    with pytest.raises(ConversationError):
        read(path)
