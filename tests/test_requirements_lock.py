"""The Docker image installs what `constraints.txt` names, and each file of it is known by its hash."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def _versions(text: str) -> dict[str, str]:
    pins = re.findall(r"^([\w.-]+)==([^\s;\\]+)", text, re.MULTILINE)
    return {canonicalize_name(name): version for name, version in pins}


def test_the_lock_has_the_versions_of_the_constraints_and_a_hash_for_each() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked, pinned = _versions(lock), _versions((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    assert {name: version for name, version in locked.items() if pinned.get(name, version) != version} == {}
    assert len(re.findall(r"^[\w.-]+==\S+ \\\n    --hash=sha256:[0-9a-f]{64}", lock, re.MULTILINE)) == len(locked)


def test_the_lock_has_what_the_image_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    locked = _versions((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    assert needed - set(locked) == set()
    assert "torch" not in locked
