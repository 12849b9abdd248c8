"""The files released with dial2vec."""

from pathlib import Path

import pytest

from format_cases import read, turns, write
from turnlens.errors import ConversationError


def test_dial2vec_clustering_file(tmp_path: Path) -> None:
    lines = '010\ta room#which "one?#the cheap one|a room#which "one?#the cheap one\t2\n10\thello#hi|hello#hi\t1\n'
    path = write(tmp_path / "clustering_test.tsv", lines)
    assert (
        read(path)
        == read(path, "dial2vec")
        == [
            {"id": "clustering_test-1", "messages": turns("a room", 'which "one?', "the cheap one"), "topics": ["2"]},
            {"id": "clustering_test-2", "messages": turns("hello", "hi", first="assistant"), "topics": ["1"]},
        ]
    )


def test_dial2vec_training_file_gives_every_dialogue_once_and_without_samples(tmp_path: Path) -> None:
    lines = ["01\ta#b|a#x\t0\n", "01\ta#b|a#y\t0\n", "01\tc#d|c#x\t0\n", "01\tc#d|c#z\t0\n"]
    assert read(write(tmp_path / "train.tsv", "".join(lines))) == [
        {"id": "train-1", "messages": turns("a", "b")},
        {"id": "train-3", "messages": turns("c", "d")},
    ]


def test_dial2vec_sessions(tmp_path: Path) -> None:
    lines = 's1\t0\ta "room\thotel|taxi\ns1\t1\tsure\thotel|taxi\ns1\t0\t \thotel|taxi\ns2\t1\thello\ttaxi\n'
    expected = [
        {"id": "s1", "messages": turns('a "room', "sure"), "topics": ["hotel", "taxi"]},
        {"id": "s2", "messages": turns("hello", first="assistant"), "topics": ["taxi"]},
    ]
    assert read(write(tmp_path / "preprocess_session_mwoz.txt", lines)) == expected
    assert read(write(tmp_path / "sessions.tsv", lines)) == expected
    assert read(write(tmp_path / "sessions", lines), "dial2vec") == expected


def test_dial2vec_sessions_with_a_header_are_a_table(tmp_path: Path) -> None:
    lines = "session\trole\ttext\ttopic\ns1\t0\ta room\thotel\ns1\t1\tsure\thotel\n"
    messages = [{"role": "0", "content": "a room"}, {"role": "1", "content": "sure"}]
    assert read(write(tmp_path / "t.tsv", lines)) == [{"id": "s1", "messages": messages, "topic": "hotel"}]


@pytest.mark.parametrize(
    ("good", "bad", "problem"),
    [
        ("01\ta#b\t1\n", "01\ta#b#c\t1\n", r":2: found 2 speakers for 3 turns"),
        ("01\ta#b\t1\n", "0x\ta#b\t1\n", r":2: found '0x' as speakers"),
        ("01\ta#b\t1\n", "01\ta#b\n", r":2: found 2 columns"),
        ("s\t0\ta\tt\n", "r\t0\ta\tt\nr\t2\tb\tt\n", r":3: found '2' as speaker"),
        ("s\t0\ta\tt\n", "r\t0\ta\tt\nr\t1\tb\n", r":3: found 3 columns"),
        ("s\t0\ta\tt\n", "r\t0\t\tt\n", r":2: the conversation has no messages"),
    ],
)
def test_bad_dial2vec_lines(tmp_path: Path, good: str, bad: str | bytes, problem: str) -> None:
    path = tmp_path / "x.tsv"
    path.write_bytes(good.encode() + (bad if isinstance(bad, bytes) else bad.encode()))
    with pytest.raises(ConversationError, match=r"x\.tsv" + problem):
        read(path)
    assert len(read(path, on_error="skip")) == 1
