"""Every script of ``benchmarks/`` runs: with ``--quick``, in seconds, on generated conversations."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
MODULES = {"quick.py", "file_attacks.py"}  # what scripts share
# Ray takes minutes of processor time to start and end; stores are killed by tests of their own.
LEFT_OUT = {"bench_ray.py", "kill_store.py"}
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py") if path.name not in MODULES | LEFT_OUT)

pytestmark = pytest.mark.slow  # some minutes of processor time


@pytest.mark.parametrize("script", SCRIPTS)
def test_runs(script: str, tmp_path: Path) -> None:
    command = [sys.executable, str(FOLDER / script), "--quick"]
    done = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0 and (done.stdout + done.stderr).strip(), done.stdout + done.stderr
    if done.stdout.startswith("skipped: "):
        pytest.skip(done.stdout.strip())
