"""The E-commerce Dialogue Corpus."""

from pathlib import Path

import pytest

from format_cases import read, write
from turnlens.errors import ConversationError


def test_ecd(tmp_path: Path) -> None:
    lines = [
        "你好|在的\t明天发货\t0|1-0-1\t1\t几时发货|不要了\t1|0\n",
        "好\t好的|谢谢\t0-1-1|0\t1\t不要了|收到\t0|1\n",
    ]
    expected = [
        [("user", "你好"), ("assistant", "在的"), ("user", "几时发货"), ("assistant", "明天发货")],
        [("user", "好"), ("assistant", "收到"), ("assistant", "好的"), ("user", "谢谢")],
    ]
    detected = read(write(tmp_path / "train.txt", "".join(lines)))
    named = read(write(tmp_path / "train_data.txt.sample", "".join(lines)))
    write(tmp_path / "folder" / "train_data.txt.sample", "".join(lines))
    assert len(read(tmp_path / "folder")) == 2
    for rows in (detected, named):
        assert [[(m["role"], m["content"]) for m in row["messages"]] for row in rows] == expected
    assert detected[0]["id"] == "train-1"
    assert [message.get("negatives") for message in detected[0]["messages"]] == [None, None, ["不要了"], None]


@pytest.mark.parametrize(
    "line", ["你好\t谢谢", "a\tb\t0|1-0-1\t1\tx|y\t1|0", "a\tb\t0-0-1\t1\tx|y\t1|1", "a\tb\t0-0-1\t1\tx\t0|1"]
)
def test_bad_ecd_lines(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConversationError, match=r"train\.txt:1: "):
        read(write(tmp_path / "train.txt", line + "\n"), "ecd")
