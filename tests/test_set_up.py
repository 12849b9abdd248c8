"""CI does what the README says, as it stands there; the Docker image installs what `constraints.txt` names.

Each file that it installs is known by its hash."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def test_every_command_of_the_set_up_is_run() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    set_up = readme.split("\n## ")[0]
    lines = "\n".join(re.findall(r"^```bash\n(.*?)^```", set_up, re.DOTALL | re.MULTILINE)).splitlines()
    commands = [line.split("#")[0].strip() for line in lines]
    assert any(command.startswith("pip install") for command in commands)
    run = [line.strip() for line in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()]
    assert {"make demo", "make test"} < set(run)
    first_lines = re.split(r"^## Six lines of shell$", readme, flags=re.MULTILINE)[1].split("\n## ")[0]
    assert [command for command in commands if command not in run and f"\n{command} " not in first_lines] == []


def test_the_first_lines_are_run() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    script = (ROOT / ".ci" / "first_lines.py").read_text(encoding="utf-8")
    assert ".ci/first_lines.py" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for heading in re.findall(r"^## (Six lines of \w+)$", readme, re.MULTILINE):
        assert heading in script


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
