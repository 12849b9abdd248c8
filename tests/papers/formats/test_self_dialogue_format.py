"""The self-dialogue corpus."""

import csv
from pathlib import Path

from format_cases import read, turns


def test_self_dialogue(tmp_path: Path) -> None:
    path = tmp_path / "board_games12.csv"
    # as in the release, the columns are sorted as text
    numbers = sorted(range(1, 11), key=str)
    header = ["HITId", "AssignmentId", *(f"Answer.sentence{number}" for number in numbers)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(header)
        writer.writerow(["h", "A1", *(f"sentence  {number}" if number < 10 else " " for number in numbers)])
    assert read(path) == [
        {"id": "A1", "topic": "board_games", "messages": turns(*(f"sentence {i}" for i in range(1, 10)))}
    ]
