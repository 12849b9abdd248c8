"""The real releases, where they are at hand."""

import gzip
import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from format_cases import read

DATA = Path(os.environ.get("TURNLENS_DATA", Path(__file__).parents[2] / "../shared/data"))


def sample(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"no {name} in {DATA} (set TURNLENS_DATA)")
    return path


def reference(*names: str) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for name in names:
        with gzip.open(sample(name), "rt", encoding="utf-8") as file:
            rows |= {row["id"]: row for row in map(json.loads, file)}
    return rows


@pytest.mark.parametrize(
    ("name", "references", "prefix", "common"),
    [
        ("samples/sgd/dialogues_001.json", ["sgd/dev.jsonl.gz"], "dev-", 10),
        ("samples/taskmaster/data_00.json", ["taskmaster4/train.jsonl.gz"], "", 4),
        (
            "samples/self_dialogue/fashion2.csv",
            ["self_dialogue/train.jsonl.gz", "self_dialogue/dev.jsonl.gz"],
            "",
            38,
        ),
    ],
)
def test_raw_samples_equal_the_chat_corpora(name: str, references: list[str], prefix: str, common: int) -> None:
    expected = reference(*references)
    rows = [{**row, "id": prefix + row["id"]} for row in read(sample(name))]
    found = [row for row in rows if row["id"] in expected]
    assert len(found) == common
    assert found == [expected[row["id"]] for row in found]


def test_raw_samples_without_a_chat_corpus() -> None:
    dialogues = read(sample("samples/dailydialog/dialogues_text.txt"))
    assert len(dialogues) == 20
    assert all(len(row["messages"]) >= 2 and "__eou__" not in str(row) for row in dialogues)
    sessions = read(sample("ecd/train/train_data.txt.sample"), "ecd")
    assert len(sessions) == 1000
    roles = [[message["role"] for message in row["messages"]] for row in sessions]
    assert all(a != b for row in roles for a, b in pairwise(row))
