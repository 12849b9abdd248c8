"""The Jing Dong Dialogue Corpus, sessions."""

from pathlib import Path

import pytest

from format_cases import read, write
from turnlens.errors import ConversationError

HEADER = "session_id\tuser_id\twaiter_send\tis_transfer\tis_repeat\tcontent\n"
LINES = [
    "s1\tu1\t0\t0\t0\t几时发货\n",
    's1\tu1\t1\t0\t0\t明天\t"亲\n',
    "s2\tu2\t1\t0\t0\t在的\n",
]


@pytest.mark.parametrize("name", ["chat.txt", "chat.tsv", "chat.txt.sample"])
def test_sessions(tmp_path: Path, name: str) -> None:
    assert read(write(tmp_path / name, HEADER + "".join(LINES))) == [
        {
            "id": "s1",
            "messages": [{"role": "user", "content": "几时发货"}, {"role": "assistant", "content": '明天\t"亲'}],
        },
        {"id": "s2", "messages": [{"role": "assistant", "content": "在的"}]},
    ]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([LINES[0], "s1\tu1\t2\t0\t0\thello\n"], r"chat\.txt:3: found '2' in waiter_send; expected 0 or 1"),
        ([LINES[0], "s1\tu1\n"], r"chat\.txt:3: found 2 columns; expected 6"),
    ],
)
def test_bad_lines(tmp_path: Path, lines: list[str], problem: str) -> None:
    path = write(tmp_path / "chat.txt", HEADER + "".join([*lines, *LINES[2:]]))
    with pytest.raises(ConversationError, match=problem):
        read(path)
    assert [row["id"] for row in read(path, on_error="skip")][-1] == "s2"


def test_a_file_without_the_header(tmp_path: Path) -> None:
    with pytest.raises(ConversationError, match=r"found the columns a, b; expected a header"):
        read(write(tmp_path / "chat.txt", "a\tb\n"), "jddc")
