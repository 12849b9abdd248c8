"""Every script of ``benchmarks/`` runs: with ``--quick``, in seconds, on generated conversations."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
MODULES = {"quick.py", "file_attacks.py"}  # what scripts share
# Ray takes minutes of processor time to start and end; stores are killed by tests of their own.
LEFT_OUT = {"bench_ray.py", "kill_store.py"}
FORKS = "reliability.py"  # which a process with threads must not do
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py") if path.name not in MODULES | LEFT_OUT)

pytestmark = pytest.mark.slow  # some minutes of processor time


@pytest.mark.parametrize("script", SCRIPTS)
def test_runs(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.chdir(tmp_path)
    from quick import output_of

    printed = output_of(str(FOLDER / script), "--quick", quick=script != FORKS).strip()
    assert printed
    if printed.startswith("skipped: "):
        pytest.skip(printed)
