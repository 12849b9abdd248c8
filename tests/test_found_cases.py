"""Faults that fuzzing has found stay mended, and the fuzzing itself runs."""

from pathlib import Path

import pytest

pytest.importorskip("hypothesis")

from fuzz.__main__ import FOUND, property_of
from fuzz.targets import TARGETS, Input

CASES = [path for path in sorted(FOUND.rglob("*")) if path.is_file()]


@pytest.mark.parametrize("path", CASES, ids=lambda path: str(path.relative_to(FOUND)))
def test_what_was_found_stays_mended(path: Path) -> None:
    target, case, *name = path.relative_to(FOUND).parts
    format = case.rpartition("-")[0]
    TARGETS[target].check(Input("/".join(name), path.read_bytes(), format))


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_every_target_takes_its_inputs(name: str) -> None:
    property_of(TARGETS[name].check, name, examples=15, derandomize=True)()
