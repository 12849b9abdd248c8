"""Every script of ``benchmarks/`` runs: with ``--quick``, in seconds, on generated conversations."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import pytest
import torch

from turnwise.encoders import loading

FOLDER = Path(__file__).parents[1] / "benchmarks"
MODULES = {"quick.py", "forgetting_objectives.py"}  # what scripts share
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py") if path.name not in MODULES)
# Ray takes minutes of processor time to start and end; stores and services are killed by tests of their own.
LEFT_OUT = {"bench_ray.py", "kill_ray.py", "kill_store.py", "kill_service.py"}
SCRIPTS = [name for name in SCRIPTS if name not in LEFT_OUT]

# Two minutes of processor time, which CI has and whoever waits for `make test` has not.
pytestmark = pytest.mark.skipif("CI" not in os.environ, reason="run by CI (CI=1), or by make bench QUICK=1")


@pytest.mark.parametrize("script", SCRIPTS)
def test_runs(script: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = FOLDER / script
    monkeypatch.setattr(sys, "argv", [str(path), "--quick"])
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(loading, "_load_default", loading._load_default)  # which --quick replaces
    threads = torch.get_num_threads()
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:
        assert not end.code, capfd.readouterr().out
    finally:
        torch.set_num_threads(threads)
    said = capfd.readouterr().out
    assert said.strip()
    if said.startswith("skipped: "):
        pytest.skip(said.strip())
