"""Names on the pages of the papers exist: Python names, methods, rows and studies of tables, tasks, commands."""

import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

import turnlens.papers
from turnlens.cli.main import app
from turnlens.evaluation import TASKS
from turnlens.papers.experiments.suite import SUITES
from turnlens.training.recipes import METHODS, get_recipe

ROOMS = Path(turnlens.papers.__file__).parent
PAPERS = ("dialogue_cse", "triple_encoders", "dial2vec")
HEADER = ["equation, table, figure", "where", "differs because"]


def rows() -> Iterator[tuple[str, list[str]]]:
    """The paper and the cells of every row of the tables."""
    for paper in PAPERS:
        for line in (ROOMS / paper / "README.md").read_text(encoding="utf-8").splitlines():
            if line.startswith("|"):
                yield paper, [cell.strip() for cell in line.strip("|").split("|")]


def names() -> list[tuple[str, str]]:
    """The entry for each line of the papers, and each name given for it."""
    entries = [cells for _, cells in rows() if cells != HEADER and set("".join(cells)) != {"-"}]
    return [(cells[0], name) for cells in entries for name in re.findall(r"`([^`]+)`", cells[1]) or [""]]


def commands() -> set[str]:
    """All commands, those of groups with the name of their group before them, such as ``papers plot additivity``."""

    def below(group: Any, prefix: str) -> set[str]:
        inner = getattr(group, "commands", {})
        return {prefix + name for name in inner}.union(*(below(inner[name], f"{prefix}{name} ") for name in inner))

    return below(typer.main.get_command(app), "")


def test_every_table_has_the_same_columns() -> None:
    tables = [cells for _, cells in rows() if cells[1] == "where"]
    assert tables == [HEADER] * 3
    assert all(len(cells) == 3 for _, cells in rows())


@pytest.mark.parametrize(("line", "name"), names())
def test_what_stands_for_a_line_of_a_paper_exists(line: str, name: str) -> None:
    words = name.split()
    if name.startswith("turnlens."):
        pkgutil.resolve_name(name)
    elif words[:2] == ["train", "--method"]:
        assert words[2] in METHODS and words[3:] in ([], ["--set", "preset=paper"])
        get_recipe(words[2], preset="paper" if words[3:] else None)
    elif words[:2] == ["evaluate", "--task"]:
        assert words[2] in TASKS and len(words) == 3
    elif words[:2] == ["papers", "bench"] and words[2].endswith(":"):
        assert words[3] in {study.name for study in SUITES[words[2][:-1]].studies} and len(words) == 4
    elif words[:2] == ["papers", "bench"]:
        assert words[3] == "--methods" and set(words[4].split(",")) <= set(SUITES[words[2]].methods_by_name)
    else:
        assert name in commands(), f"{line}: {name!r}"


@pytest.mark.parametrize("section", ["dialogue_cse", "dial2vec", "triple_encoders"])
def test_every_numbered_line_of_the_papers_is_there(section: str) -> None:
    lines = " ".join(cells[0] for found, cells in rows() if found == section)
    numbers = {"dialogue_cse": (8, 4, 3), "dial2vec": (9, 5, 3), "triple_encoders": (4, 7, 7)}[section]
    for kind, last in zip((r"Eq\.", "Table", "Figures?"), numbers):
        mentioned = {
            int(number)
            for group in re.findall(rf"{kind} (\d(?:(?:, | and )\d)*)", lines)
            for number in re.findall(r"\d", group)
        }
        assert mentioned == set(range(1, last + 1)), kind
