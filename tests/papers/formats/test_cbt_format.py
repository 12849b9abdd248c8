"""The Children's Book Test."""

import gzip
from pathlib import Path

import pytest

from format_cases import read, write
from turnlens.errors import ConversationError


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
