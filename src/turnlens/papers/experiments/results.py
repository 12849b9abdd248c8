"""The outcomes of a run's cells, and the files they are kept in."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from turnlens._utils.files import atomic_path

CellRecord = dict[str, Any]  # a cell as it stands in the results, from ``Cell.record``
Results = dict[str, Any]  # the results of a run, from ``results.json``


@dataclass(frozen=True)
class Outcome:
    """The outcome of a cell.

    Attributes:
        status: Whether it was run.
        reason: Why it failed, or what is missing.
        figures: Task key -> the task's figures.
        per_query: Task key, or task key/mode -> the main figure's name and its values.
        cost: Time and tokens.
    """

    status: Literal["done", "failed", "not run"]
    reason: str = ""
    figures: dict[str, Any] | None = None
    per_query: dict[str, Any] | None = None
    cost: dict[str, Any] | None = None


class CellFolder:
    """The folder of finished and failed cells, each a file named by its key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def finished(self, key: str) -> Outcome | None:
        """The outcome of a cell that was done before."""
        path = self.folder / f"{key}.json"
        if not path.is_file():
            return None
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["status"] != "done":
            return None
        return Outcome("done", figures=record["figures"], per_query=record["per_query"], cost=record["cost"])

    def keep(self, key: str, record: CellRecord, cost: dict[str, Any] | None) -> None:
        """Write a cell as it stands in the results, with its cost."""
        write_json(self.folder / f"{key}.json", {**record, "cost": cost})


def check_suite(folder: Path, suite: str) -> None:
    """Refuse a folder with the results of another suite, whose report would be overwritten.

    Raises:
        ValueError: It is one.
    """
    path = folder / "results.json"
    found = json.loads(path.read_text(encoding="utf-8"))["suite"] if path.is_file() else suite
    if found != suite:
        raise ValueError(f"{folder} holds the results of {found}: name another folder, such as --out {suite}")


# A list of numbers as json indents it. No text can look like this, because its line breaks are escaped.
_NUMBERS = re.compile(r"\[\n[\s\d.,eE+-]+\]")


def write_json(path: Path, value: Any) -> None:
    """Write a file completely or not at all; lists of numbers, one for each query, stay on one line."""
    text = _NUMBERS.sub(lambda match: re.sub(r"\s+", "", match[0]).replace(",", ", "), json.dumps(value, indent=1))
    with atomic_path(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8", newline="\n")
