"""Names of the documentation exist, and the public face of the package is what its stub says."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import turnlens
from turnlens._utils.registries import GROUP

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
NAME = re.compile(r"(?<![\w./])turnlens(?:\.[A-Za-z_]\w*)+")
IMPORT = re.compile(r"from (turnlens[\w.]*) import (\([^)]+\)|[^\n`]+)")
DIRECTIVE = re.compile(r"^::: (\S+)", re.MULTILINE)


def snippets() -> Iterator[tuple[Path, str]]:
    """Code blocks and inline code of the pages."""
    for page in PAGES:
        for match in CODE.finditer(page.read_text(encoding="utf-8")):
            yield page, match[0]


def named() -> Iterator[tuple[str, str]]:
    """``(page, name)`` for every ``turnlens.a.b`` that stands in code, imports apart."""
    for page, code in snippets():
        for name in NAME.findall(IMPORT.sub("", code)):
            if name != GROUP:  # of entry points, no name in Python
                yield page.name, name


def imported() -> Iterator[tuple[str, str, str]]:
    """``(page, module, name)`` for every ``from turnlens.x import name`` that stands in code."""
    for page, code in snippets():
        for module, names in IMPORT.findall(code):
            for name in names.strip("()\n ").rstrip(",").split(","):
                yield page.name, module, name.split(" as ")[0].strip()


def stub_names() -> dict[str, tuple[str, str]]:
    """``{public name: (module, name there)}`` as the stub has it."""
    stub = ast.parse((Path(turnlens.__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))
    return {
        alias.asname or alias.name: (".".join(filter(None, ["turnlens", node.module])), alias.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


NAMED = sorted(set(named()))
IMPORTED = sorted(set(imported()))


def test_the_pages_are_read() -> None:
    assert len(NAMED) > 20 and len(IMPORTED) > 5
    assert ("README.md", "turnlens.read_conversations") in NAMED


@pytest.mark.parametrize(("page", "name"), NAMED)
def test_a_dotted_name_in_the_documentation_resolves(page: str, name: str) -> None:
    pkgutil.resolve_name(name)


@pytest.mark.parametrize(("page", "module", "name"), IMPORTED)
def test_an_import_in_the_documentation_works(page: str, module: str, name: str) -> None:
    getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("page", sorted((ROOT / "docs/reference").glob("*.md")), ids=lambda page: page.stem)
def test_the_names_of_the_api_reference_resolve(page: Path) -> None:
    for name in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
        pkgutil.resolve_name(name)


@pytest.mark.parametrize("name", sorted(stub_names()))
def test_the_stub_and_the_package_agree(name: str) -> None:
    module, there = stub_names()[name]
    public = getattr(turnlens, name)
    if isinstance(public, ModuleType):
        assert public is importlib.import_module(f"{module}.{there}")
    else:
        assert public is getattr(importlib.import_module(module), there)


def test_the_public_face_is_small() -> None:
    assert len(stub_names().keys() - {"papers"}) <= 25


@pytest.mark.parametrize("room", ["turnlens", "turnlens.scale", "turnlens.data"])
def test_functions_take_the_data_first_and_everything_else_by_keyword(room: str) -> None:
    offered = importlib.import_module(room)
    functions = {name: getattr(offered, name) for name in offered.__all__ if inspect.isfunction(getattr(offered, name))}
    assert len(functions) > 2
    for name, function in functions.items():
        kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
        assert kinds[0] is inspect.Parameter.POSITIONAL_OR_KEYWORD, name
        assert set(kinds[1:]) <= {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}, name


def test_all_is_what_the_stub_imports() -> None:
    assert set(turnlens.__all__) == set(stub_names())
    assert set(turnlens.__all__) <= set(dir(turnlens))


def test_the_api_reference_lists_every_public_name() -> None:
    index = (ROOT / "docs/reference/index.md").read_text(encoding="utf-8")
    rooms = {name for name in turnlens.__all__ if isinstance(getattr(turnlens, name), ModuleType)}
    assert [name for name in turnlens.__all__ if f"[`{name}`]" not in index and name not in rooms] == []
    assert [room for room in rooms if not re.search(rf"turnlens\.(\w+\.)*{room}\b|\({room}\.md\)", index)] == []


def test_importing_turnlens_is_quick_because_it_imports_no_heavy_library() -> None:
    code = "import sys, turnlens; print({'torch', 'transformers', 'datasets'} & set(sys.modules))"
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert text.stdout.strip() == "set()"


def test_the_citation_names_the_version_and_the_papers() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == turnlens.__version__
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert all({"type", "title", "authors", "year", "url"} <= paper.keys() for paper in citation["references"])
    assert len(citation["references"]) == 4  # CCL and C3L are two papers
