"""The notebooks of ``examples/`` run, and are kept without outputs."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_kept_without_outputs(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert cells
    assert [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


@pytest.mark.slow  # two minutes of processor time
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(notebook: Path, tmp_path: Path) -> None:
    for module in ("nbmake", "ipykernel"):
        pytest.importorskip(module, reason=f"{module} is not installed: pip install -e '.[dev]'")
    copy = shutil.copy(notebook, tmp_path)  # a notebook writes beside itself
    command = [sys.executable, "-m", "pytest", "--nbmake", "--nbmake-timeout=600", str(copy)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
