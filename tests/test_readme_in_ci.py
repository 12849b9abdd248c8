"""CI does what the README says, as it stands there."""

import re
from pathlib import Path

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
