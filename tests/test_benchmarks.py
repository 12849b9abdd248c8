"""Every script of ``benchmarks/`` runs: with ``--quick``, in seconds, on generated conversations."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
MODULES = {"quick.py", "file_attacks.py"}  # what scripts share
# Ray takes minutes of processor time to start and end; stores are killed by tests of their own.
LEFT_OUT = {"bench_ray.py", "kill_store.py"}
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py") if path.name not in MODULES | LEFT_OUT)

pytestmark = pytest.mark.slow  # some minutes of processor time


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[str, Path], tuple[int, str]]]:
    """Runs a script in a folder and gives the status that it ends with, and what it printed.

    In a process of its own: studies change the library's functions, and benchmarks measure their memory.
    """
    command = [sys.executable, str(Path(__file__).with_name("warm_scripts.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin
        assert process.stdout

        def ended(script: str, folder: Path) -> tuple[int, str]:
            printed = folder / "printed.txt"
            print(FOLDER / script, folder, printed, "--quick", sep="\t", file=process.stdin, flush=True)
            return int(process.stdout.readline()), printed.read_text(encoding="utf-8")

        yield ended
        process.stdin.close()


@pytest.mark.parametrize("script", SCRIPTS)
def test_runs(script: str, run: Callable[[str, Path], tuple[int, str]], tmp_path: Path) -> None:
    status, printed = run(script, tmp_path)
    assert status == 0, printed
    assert printed.strip()
    if printed.startswith("skipped: "):
        pytest.skip(printed.strip())
