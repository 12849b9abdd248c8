from pathlib import Path
from typing import Any

import pytest

from format_cases import read, turns, write
from samples import HELLO, NIHAO, lines
from turnlens.errors import ConversationError


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": HELLO, "completion": NIHAO},
        {"prompt": HELLO, "response": NIHAO},
        {"prompt": HELLO, "chosen": NIHAO},
        {"prompt": turns(HELLO), "completion": turns(NIHAO, first="assistant")},
        {"input": {"messages": turns(HELLO)}, "preferred_output": turns(NIHAO, first="assistant")},
        {"instruction": HELLO, "input": "", "output": NIHAO},
        {"instruction": HELLO, "response": NIHAO},
        {"question": HELLO, "answer": NIHAO},
    ],
)
def test_a_pair_is_two_messages(tmp_path: Path, row: dict[str, Any]) -> None:
    assert read(write(tmp_path / "p.jsonl", lines({**row, "topic": "t"}))) == [
        {"id": "p-1", "messages": turns(HELLO, NIHAO), "topic": "t"}
    ]


def test_the_input_follows_its_instruction(tmp_path: Path) -> None:
    row = {"instruction": "Translate.", "input": NIHAO, "output": HELLO, "rejected": "no"}
    (read_row,) = read(write(tmp_path / "p.jsonl", lines(row)))
    assert read_row["messages"] == turns(f"Translate.\n\n{NIHAO}", HELLO)
    assert read_row["rejected"] == "no"


def test_a_pair_without_a_text(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", lines({"prompt": HELLO, "completion": NIHAO}, {"prompt": 7, "completion": "x"}))
    with pytest.raises(ConversationError, match=r"p\.jsonl:2: found no text under 'prompt'; expected one, or a list"):
        read(path)
