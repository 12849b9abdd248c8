"""The examples in docstrings give what they show."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import turnlens

SOURCE = Path(turnlens.__file__).parent
# They train, or explore a corpus.
SLOW = {"page/explorer.py", "page/report_files.py", "training/centre.py", "training/merging.py", "training/train.py"}
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
