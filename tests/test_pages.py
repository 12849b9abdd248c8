"""The pages are what they seem: tables have headers, and what they promise to list is all there."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
RULE = re.compile(r"\|(\s*:?-+:?\s*\|)+")


def lines_of_text(page: Path) -> list[str]:
    """The lines of a page, blank in blocks of code."""
    code = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
    return code.sub(lambda block: "\n" * block[0].count("\n"), page.read_text(encoding="utf-8")).split("\n")


def beginnings(page: Path) -> Iterator[tuple[str, str]]:
    """Place and second line of everything that begins as a table does."""
    lines = ["", *lines_of_text(page), ""]
    for number, (before, line, after) in enumerate(zip(lines, lines[1:], lines[2:]), start=1):
        if line.startswith("|") and not before.startswith("|"):
            yield f"{page.relative_to(ROOT)}:{number}", after


def test_every_table_has_a_header() -> None:
    tables = [table for page in PAGES for table in beginnings(page)]
    assert len(tables) > 60
    assert [place for place, second in tables if not RULE.fullmatch(second.strip())] == []


def test_every_page_is_in_the_navigation() -> None:
    # So `make docs` asks, with a package that the tests do without.
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    named = set(re.findall(r"([\w/.-]+\.md)$", navigation, re.MULTILINE))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in PAGES if path.is_relative_to(ROOT / "docs")}
    assert len(pages) > 30
    assert named == pages


def test_the_table_of_extras_has_all_of_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    table = page.split("| extra | for |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(project["optional-dependencies"])


def test_all_formats_are_listed_and_counted() -> None:
    from turnlens.formats import FORMATS

    page = "".join(
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("formats.md", "papers-evaluation.md")
    )
    names = set(FORMATS)
    cells = re.findall(r"^\| (`[^|]+`) \|", page, re.MULTILINE)
    assert names <= {name for cell in cells for name in re.findall(r"`([\w-]+)`", cell)}
    assert f"[{len(names)} formats]" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_files_that_the_architecture_names_are_there() -> None:
    files = {
        "/" + path.relative_to(ROOT).as_posix()
        for room in ("src", "docs", "tests")
        for path in (ROOT / room).rglob("*")
    }
    files |= {"/" + path.name for path in ROOT.iterdir()}
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`((?:\w+/)*\w+\.(?:pyi?|js|html|toml|md)|(?:\w+/)+)`", page))
    assert len(names) > 40
    assert sorted(name for name in names if not any(file.endswith("/" + name.rstrip("/")) for file in files)) == []
