"""The examples in docstrings give what they show, and docstrings begin with nouns or verbs."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import turnlens

SOURCE = Path(turnlens.__file__).parent
# They train, or explore a corpus.
_EXPLORING = {"page/explorer.py", "page/report_files.py", "report/clustering.py", "report/report.py"}
SLOW = {*_EXPLORING, "training/centre.py", "training/merging.py", "training/train.py"}
WITH_EXAMPLES = [
    pytest.param(path, id=(name := path.relative_to(SOURCE).as_posix()), marks=[pytest.mark.slow] * (name in SLOW))
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", WITH_EXAMPLES)
def test_examples_give_what_they_show(
    path: Path, tmp_path: Path, tiny_encoder_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # of files that examples write
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    module = import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    results = doctest.testmod(module, extraglobs={"encoder": str(tiny_encoder_path)})
    assert results.attempted > 0
    assert results.failed == 0


def test_docstrings_begin_with_nouns_or_verbs() -> None:
    root = Path(__file__).parents[1]
    folders = [root / name for name in ("src", "tests", "benchmarks", "fuzz", "docs")]
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    assert len(paths) > 300
    question = re.compile(r'^ *"""(How|Which|Whether|Where|What) .*', re.MULTILINE)
    assert [(path.name, found[0]) for path in paths for found in question.finditer(path.read_text("utf-8"))] == []
