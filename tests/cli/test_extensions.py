"""A package of somebody else adds to turnwise; the one in ``examples/`` adds a method."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import turnwise

EXAMPLE = Path(__file__).parents[2] / "examples" / "margin_cse"


def install(folder: Path, name: str, module: str) -> None:
    """Write the metadata that pip would write for a package with an extension."""
    metadata = folder / f"{name}-0.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(f"[turnwise.extensions]\n{name} = {module}\n", encoding="utf-8")


def run(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run turnwise in a new process, with what is installed in this folder and the modules of the example."""
    path = os.pathsep.join([str(folder), str(EXAMPLE), str(Path(turnwise.__file__).parents[1])])
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}
    command = [sys.executable, "-m", "turnwise", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=environment)


def test_the_methods_of_the_example_are_in_the_help_and_can_be_trained(
    tmp_path: Path, chats: Path, tiny_encoder_path: Path
) -> None:
    declared = re.search(r'"turnwise.extensions"\]\n(.+) = "(.+)"', (EXAMPLE / "pyproject.toml").read_text())
    assert declared is not None
    install(tmp_path, declared[1], declared[2])
    assert "margin-cse (messages, DialogueCSE with a margin)" in " ".join(
        run(tmp_path, "train", "--help").stdout.replace("│", " ").split()
    )
    settings = ("--method", "margin-cse", "--encoder", tiny_encoder_path, "--max-steps", "1")
    done = run(tmp_path, "train", chats, *settings, "--output", tmp_path / "model")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "model" / "modules.json").is_file()


def test_an_extension_replaces_nothing_and_a_broken_one_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "greedy.py").write_text('METHODS = {"complete": "nowhere:X", "own": "nowhere:X"}\n', encoding="utf-8")
    (tmp_path / "broken.py").write_text("import nowhere\n", encoding="utf-8")
    install(tmp_path, "greedy", "greedy")
    install(tmp_path, "broken", "broken")
    done = run(tmp_path, "train", "nowhere.jsonl", "--method", "nope", "--output", tmp_path / "model")
    assert done.returncode == 1
    assert "left out the extension broken: No module named 'nowhere'" in done.stderr
    assert "expected one of complete, in-context, reply-head, own, " in " ".join(done.stderr.split())
    own = "from turnwise._utils.names import METHODS; print(METHODS['complete'].__name__)"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(turnwise.__file__).parents[1])]),
    }
    shown = subprocess.run([sys.executable, "-c", own], capture_output=True, text=True, env=environment)
    assert shown.stdout == "Complete\n", shown.stderr
