"""Every script of ``benchmarks/`` runs: with ``--quick``, in seconds, on generated conversations."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
MODULES = {"quick.py"}  # what scripts share
# Ray takes minutes of processor time to start and end; stores and services are killed by tests of their own.
LEFT_OUT = {"bench_ray.py", "kill_ray.py", "kill_store.py", "kill_service.py"}
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py") if path.name not in MODULES | LEFT_OUT)

# Some minutes of processor time, which CI has and whoever waits for `make test` has not.
pytestmark = pytest.mark.skipif("CI" not in os.environ, reason="run by CI (CI=1), or by make bench QUICK=1")


@pytest.mark.parametrize("script", SCRIPTS)
def test_runs(script: str, tmp_path: Path) -> None:
    # A process of its own: studies change the library's functions, and benchmarks measure their memory.
    command = [sys.executable, str(FOLDER / script), "--quick"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()
    if done.stdout.startswith("skipped: "):
        pytest.skip(done.stdout.strip())
