"""What docs/papers.md names is there: Python names, methods, rows and studies of benchmarks, tasks, commands."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from turnwise.cli.main import app
from turnwise.evaluation import TASKS
from turnwise.experiments.suites import SUITES
from turnwise.training.recipes import RECIPES

PAGE = Path(__file__).parents[1] / "docs" / "papers.md"
HEADER = ["equation, table, figure", "where", "differs because"]


def rows() -> Iterator[tuple[str, list[str]]]:
    """Section and cells of every row of the tables."""
    section = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif line.startswith("|"):
            yield section, [cell.strip() for cell in line.strip("|").split("|")]


def names() -> list[tuple[str, str]]:
    """What stands for each line of the papers, and each name given for it."""
    entries = [cells for _, cells in rows() if cells != HEADER and set("".join(cells)) != {"-"}]
    return [(cells[0], name) for cells in entries for name in re.findall(r"`([^`]+)`", cells[1]) or [""]]


def commands() -> set[str]:
    """All commands, and those of a group as ``plot additivity``."""
    group = typer.main.get_command(app)
    found = set(group.commands)
    for name, command in group.commands.items():
        found |= {f"{name} {inner}" for inner in getattr(command, "commands", {})}
    return found


def test_every_table_has_the_same_columns() -> None:
    tables = [cells for _, cells in rows() if cells[1] == "where"]
    assert tables == [HEADER] * 3
    assert all(len(cells) == 3 for _, cells in rows())


@pytest.mark.parametrize(("line", "name"), names())
def test_what_stands_for_a_line_of_a_paper_exists(line: str, name: str) -> None:
    words = name.split()
    if name.startswith("turnwise."):
        pkgutil.resolve_name(name)
    elif words[:2] == ["train", "--method"]:
        assert words[2] in RECIPES and len(words) == 3
    elif words[:2] == ["evaluate", "--task"]:
        assert words[2] in TASKS and len(words) == 3
    elif words[:1] == ["bench"] and words[1].endswith(":"):
        assert words[2] in {study.name for study in SUITES[words[1][:-1]].studies} and len(words) == 3
    elif words[:1] == ["bench"]:
        assert words[2] == "--methods" and set(words[3].split(",")) <= set(SUITES[words[1]].methods_by_name)
    else:
        assert name in commands(), f"{line}: {name!r}"


@pytest.mark.parametrize("section", ["DialogueCSE", "CCL and triple-encoders"])
def test_every_numbered_line_of_the_papers_is_there(section: str) -> None:
    lines = " ".join(cells[0] for found, cells in rows() if found == section)
    numbers = {"DialogueCSE": (8, 4, 3), "CCL and triple-encoders": (4, 7, 7)}[section]
    for kind, last in zip((r"Eq\.", "Table", "Figures?"), numbers):
        mentioned = {
            int(number)
            for group in re.findall(rf"{kind} (\d(?:(?:, | and )\d)*)", lines)
            for number in re.findall(r"\d", group)
        }
        assert mentioned == set(range(1, last + 1)), kind
