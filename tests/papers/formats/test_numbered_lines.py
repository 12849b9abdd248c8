import gzip
from pathlib import Path

import pytest

from format_cases import read, turns, write
from turnlens.errors import ConversationError

PERSONACHAT = {
    "self": [
        "1 your persona: i like tea.",
        "2 your persona: i have a cat.",
        "3 hi , how are you ?\tfine . you ?\t\tno .|it rains .|fine . you ?",
        "4 good , thanks .\tdo you like tea ?\t\tbye .|do you like tea ?",
        "1 your persona: i ski.",
        "2 hello\thi",
    ],
    "both": ["1 your persona: i ski.", "2 partner's persona: i read.", "3 hello\thi"],
    "none": ["1 hello\thi\t\tno .|hi", "2 bye\tso long\t\tso long|hi", "1 yes ?\tno\t\tno"],
}


PERSONACHAT_ROWS = {
    "self": [
        {
            "id": "train-1",
            "messages": turns("hi , how are you ?", "fine . you ?", "good , thanks .", "do you like tea ?"),
            "persona": ["i like tea.", "i have a cat."],
        },
        {"id": "train-5", "messages": turns("hello", "hi"), "persona": ["i ski."]},
    ],
    "both": [
        {
            "id": "train-1",
            "messages": turns("hello", "hi"),
            "persona": ["i ski."],
            "partner_persona": ["i read."],
        }
    ],
    "none": [
        {"id": "train-1", "messages": turns("hello", "hi", "bye", "so long")},
        {"id": "train-3", "messages": turns("yes ?", "no")},
    ],
}


@pytest.mark.parametrize("kind", PERSONACHAT)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_personachat(tmp_path: Path, kind: str, end: str) -> None:
    path = write(tmp_path / "train.txt", end.join([*PERSONACHAT[kind], ""]))
    assert read(path) == read(path, "personachat") == PERSONACHAT_ROWS[kind]


def test_personachat_repetitions_with_the_sides_exchanged_are_left_out(tmp_path: Path) -> None:
    repeated = ["1 your persona: i read.", "2 __SILENCE__\thello\t\tno .|hello", "3 hi\tare you there ?\t\tyes"]
    path = write(tmp_path / "train.txt", "\n".join([*PERSONACHAT["self"], *repeated, *PERSONACHAT["none"][2:]]))
    last = {"id": "train-10", "messages": turns("yes ?", "no")}
    assert read(path) == [*PERSONACHAT_ROWS["self"], last]


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (b"1 hi\tyes\n2 bye\n", r":4: found 'bye' without a reply; expected lines numbered"),
        (b"1 hi\tyes\nbye\tso long\n", r":4: found 'bye\\tso long' without a number"),
        (b"1 your persona: i ski.\n", r":3: the conversation has no messages"),
    ],
)
def test_bad_personachat_lines(tmp_path: Path, bad: bytes, problem: str) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(b"1 a\tb\n2 c\td\n" + bad + b"1 e\tf\n")
    with pytest.raises(ConversationError, match=r"train\.txt" + problem):
        read(path)
    assert [row["messages"] for row in read(path, on_error="skip")] == [turns("a", "b", "c", "d"), turns("e", "f")]


def story(*sentences: str) -> list[dict[str, str]]:
    return [{"role": "narrator", "content": sentence} for sentence in sentences]


CBT_BOOKS = """_BOOK_TITLE_ : A_Fox.txt.out
The fox lived in a wood .
It was `` old '' .
CHAPTER I. -LCB- Chapter heading -RCB- The Wood
One day it rained .

The fox ran .
CHAPTER II
_BOOK_TITLE_ : B_Hen.txt.out
The hen sat .
"""


def test_cbt_books(tmp_path: Path) -> None:
    path = write(tmp_path / "cbt_train.txt", CBT_BOOKS)
    fox, hen = "A_Fox.txt.out", "B_Hen.txt.out"
    expected = [
        {"id": "cbt_train-2", "messages": story("The fox lived in a wood .", "It was `` old '' ."), "book": fox},
        {
            "id": "cbt_train-5",
            "messages": story("One day it rained .", "The fox ran ."),
            "book": fox,
            "chapter": "CHAPTER I. -LCB- Chapter heading -RCB- The Wood",
        },
        {"id": "cbt_train-10", "messages": story("The hen sat ."), "book": hen},
    ]
    assert read(path) == read(path, "cbt") == expected
    with gzip.open(tmp_path / "cbt_train.txt.gz", "wt", encoding="utf-8") as file:
        file.write(CBT_BOOKS)
    assert read(tmp_path / "cbt_train.txt.gz") == expected


def cbt_question(name: str, query: str = "21 then XXXXX ran home .\tFox\t\tCat|Fox|Hen") -> str:
    return "\n".join([*(f"{i} {name} said {i} ." for i in range(1, 21)), query, "", ""])


def test_cbt_questions(tmp_path: Path) -> None:
    path = write(tmp_path / "cbtest_NE_test.txt", cbt_question("Hen") + cbt_question("Cat"))
    expected = [
        {
            "id": f"cbtest_NE_test-{line}",
            "messages": story(*(f"{name} said {i} ." for i in range(1, 21)), "then Fox ran home ."),
        }
        for line, name in ((1, "Hen"), (23, "Cat"))
    ]
    assert read(path) == read(path, "cbt") == expected


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (
            cbt_question("x", "21 then Fox ran home ."),
            r":43: found 'then Fox .*' as the last line; expected one",
        ),
        (cbt_question("x", "21 then XXXXX ran home ."), r":43: found 'then XXXXX"),
        (cbt_question("x", "21 then Fox ran .\tFox"), r":43: found 'then Fox ran"),
        (cbt_question("x", "then XXXXX ran home .\tFox"), r":43: .* without a number"),
    ],
)
def test_bad_cbt_questions(tmp_path: Path, bad: str, problem: str) -> None:
    path = write(tmp_path / "cbtest.txt", cbt_question("Hen") + bad + cbt_question("Cat"))
    with pytest.raises(ConversationError, match=r"cbtest\.txt" + problem):
        read(path)
    assert len(read(path, on_error="skip")) == 2
