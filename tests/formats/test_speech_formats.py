from pathlib import Path
from typing import Any

import pytest

from format_cases import read, write
from samples import HELLO, NIHAO, SALAM, SHALOM, SRT, TRANSCRIPT, VTT, WHISPER, WHISPER_CPP, WHISPERX
from turnlens.errors import ConversationError


def message(role: str, content: str, start: float, end: float | None) -> dict[str, Any]:
    return {"role": role, "content": content, "start": start, **({} if end is None else {"end": end})}


BOTH = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Hi</v>\n<v.loud Ben>Hello</v>\n\n00:03.000 --> 00:04.000\nmore\n"
BARE = "00:00:01,000 --> 00:00:02,000"
CHUNKS = {
    "text": "",
    "chunks": [
        {"timestamp": [0.5, 1.0], "text": " Hi"},
        {"timestamp": [1.0, 1.0], "text": None},
        {"timestamp": [1.0, None], "text": " Yo"},
    ],
}
NAMES = [("Änn", HELLO, 1, 2.5), ("Änn", "which goes on: here", 3, 4)]
NAMES += [("دان", SALAM, 5, 6), ("Änn", "Ja.", 5, 6), ("دان", "👍", 3607, 3608)]


@pytest.mark.parametrize(
    ("name", "content", "messages", "language"),
    [
        ("x.json", WHISPERX, [("SPEAKER_00", NIHAO, 0.5, 1.25), ("SPEAKER_01", "Ja. 🙂", 1.5, 2)], "zh"),
        ("whisper.json", WHISPER, [("speaker", "Grüße.", 0, 1)], "de"),
        ("cpp.json", WHISPER_CPP, [("speaker", SHALOM, 0, 1.5)], "he"),
        ("voices.vtt", VTT, [("Änn", f"{HELLO} & welcome", 1, 2.5), ("דן", SHALOM, 3, 64)], None),
        ("both.vtt", BOTH, [("Ann", "Hi", 1, 2), ("Ben", "Hello", 1, 2), ("Ben", "more", 3, 4)], None),
        ("names.srt", SRT, NAMES, None),
        (
            "bare.srt",
            f"{BARE}\n\n{{\\an8}}Hi {{\\i1}}you{{\\i0}}\n\n2\n{BARE}\n{{so}}\n",
            [("speaker", "Hi you", 1, 2), ("speaker", "{so}", 1, 2)],
            None,
        ),
        ("chunks.json", CHUNKS, [("speaker", "Hi", 0.5, 1), ("speaker", "Yo", 1, None)], None),
        ("plain.srt", "1\n00:00:01,000 --> 00:00:02,000\n<i>Good</i> day.\n", [("speaker", "Good day.", 1, 2)], None),
    ],
)
def test_who_says_what_and_when(tmp_path: Path, name: str, content: Any, messages: list[Any], language: Any) -> None:
    (row,) = read(write(tmp_path / name, content))
    assert row["messages"] == [message(*said) for said in messages]
    assert row.get("language") == language


def captions(*texts: str) -> str:
    return "".join(f"{n}\n00:00:{n:02},000 --> 00:00:{n:02},500\n{text}\n\n" for n, text in enumerate(texts, start=1))


@pytest.mark.parametrize(
    ("texts", "roles"),
    [
        (["Please confirm: yes or no."], ["speaker"]),
        (["Please confirm: yes.", "Please confirm: no."], ["speaker", "speaker"]),
        (["Well.", "Please confirm: yes.", "So.", "Please confirm: no."], ["speaker"] * 4),
        (["Ann: Hello.", "Please confirm: yes.", "Ann: Bye."], ["Ann", "Ann", "Ann"]),
        (["Ann: Hello."], ["Ann"]),
        (["Dr. Jan van Dam: Hello.", "SPEAKER_01: Hi."], ["Dr. Jan van Dam", "SPEAKER_01"]),
        (["Customer service: Hello.", "Ann: Hi.", "Customer service: Bye."], ["Customer service", "Ann"] * 2),
    ],
)
def test_a_phrase_is_no_speaker(tmp_path: Path, texts: list[str], roles: list[str]) -> None:
    (row,) = read(write(tmp_path / "a.srt", captions(*texts)))
    assert [message["role"] for message in row["messages"]] == roles[: len(texts)]
    assert all(text.endswith(message["content"]) for text, message in zip(texts, row["messages"]))


def test_malformed_subtitles(tmp_path: Path) -> None:
    bad = write(tmp_path / "a.vtt", "WEBVTT\n\n00:99.000 --> 00:99.500\nHi\n")
    with pytest.raises(ConversationError, match=r"a\.vtt: "):
        read(bad)


def test_transcript(tmp_path: Path) -> None:
    (row,) = read(write(tmp_path / "interview.txt", TRANSCRIPT))
    assert row["title"] == "Interview, 1 May"
    assert row["messages"] == [
        {"role": "Änn", "content": HELLO},
        {"role": "דן", "content": f"{SHALOM}\nand more"},
        {"role": "Änn", "content": "Address: Long Road", "start": 65},
        {"role": "客服", "content": "你好"},
        {"role": "客服", "content": "再见", "start": 120},
    ]


def test_lines_like_names_continue_the_message(tmp_path: Path) -> None:
    (row,) = read(
        write(tmp_path / "a.txt", "Ann: I live here\nAddress: Long Road\nhttps://a.b\nBen: fine\nAnn: ok\nBen: bye")
    )
    assert [(m["role"], m["content"]) for m in row["messages"]] == [
        ("Ann", "I live here\nAddress: Long Road\nhttps://a.b"),
        ("Ben", "fine"),
        ("Ann", "ok"),
        ("Ben", "bye"),
    ]


def test_transcripts_between_separators(tmp_path: Path) -> None:
    rows = read(write(tmp_path / "a.txt", "User: hi\nBot: hello\n---\nUser: bye\nBot: so long\n=====\n"))
    assert [(row["id"], len(row["messages"])) for row in rows] == [("a-1", 2), ("a-4", 2)]


@pytest.mark.parametrize(
    "text", ["name: x\nsize: 3\ncolour: red\n", "Once upon a time.\nThere was a king: Arthur.\n", "12:30 lunch\n"]
)
def test_other_text_is_not_taken_for_a_transcript(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConversationError, match="could not detect the format"):
        read(write(tmp_path / "a.txt", text))
