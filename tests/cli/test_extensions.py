"""A package of somebody else adds to turnlens; the one in ``examples/`` adds a method and a task."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turnlens
import turnlens.extending
from turnlens._utils.registries import Table, extensions

EXAMPLE = Path(__file__).parents[2] / "examples" / "next_turn"


def install(folder: Path, name: str, module: str) -> None:
    """Write the metadata that pip would write for a package with an extension."""
    metadata = folder / f"{name}-0.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(f"[turnlens.extensions]\n{name} = {module}\n", encoding="utf-8")


# Runs the commands that it is given, and prints what came of each and which class is the default method.
COMMANDS = """
import json, sys
from typer.testing import CliRunner
from turnlens._utils.registries import METHODS
from turnlens.cli.main import app
done = [CliRunner().invoke(app, words) for words in json.loads(sys.argv[1])]
shown = [{"code": one.exit_code, "stdout": one.stdout, "output": one.output} for one in done]
print(json.dumps({"done": shown, "complete": METHODS["complete"].__name__}))
"""


def run(folder: Path, *commands: tuple[object, ...]) -> dict[str, Any]:
    """Run commands in a new process, with what is installed in this folder and the modules of the example."""
    path = os.pathsep.join([str(folder), str(EXAMPLE), str(Path(turnlens.__file__).parents[1])])
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}
    words = json.dumps([[str(word) for word in command] for command in commands])
    command = [sys.executable, "-c", COMMANDS, words]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=environment)
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout.splitlines()[-1]), "stderr": done.stderr}


@pytest.mark.slow
def test_the_methods_of_the_example_are_in_the_help_and_can_be_trained(
    tmp_path: Path, chats: Path, tiny_encoder_path: Path
) -> None:
    declared = re.search(r'"turnlens.extensions"\]\n(.+) = "(.+)"', (EXAMPLE / "pyproject.toml").read_text())
    assert declared is not None
    install(tmp_path, declared[1], declared[2])
    settings = ("--method", "next-turn", "--encoder", tiny_encoder_path, "--set", "distance=2", "--max-steps", "1")
    train = ("train", chats, *settings, "--output", tmp_path / "model")
    evaluate = ("evaluate", tmp_path / "model", chats, "--task", "first-reply", "--output", "-")
    done = run(tmp_path, ("train", "--help"), ("evaluate", "--help"), train, evaluate)["done"]
    help_of_train, help_of_evaluate, trained, evaluated = (words_of(one["output"]) for one in done)
    assert [one["code"] for one in done] == [0] * 4, f"{trained}\n{evaluated}"
    assert "next-turn (messages, each close to the one that follows)" in help_of_train
    assert "first-reply" in help_of_evaluate
    assert re.search(r"1 steps in [\d:]+; loss [\d.]+ at step 1\.", trained)
    record = json.loads((tmp_path / "model" / "training.json").read_text(encoding="utf-8"))
    assert record["recipe"]["method"] == "next-turn" and record["recipe"]["distance"] == 2
    figures = json.loads(done[3]["stdout"])["first_reply"]
    low, high = figures["r_at_1_interval"]
    assert 0 <= low <= figures["r_at_1"] <= high <= 100


def words_of(output: str) -> str:
    return " ".join(output.replace("│", " ").split())


def test_the_example_needs_only_what_is_public() -> None:
    statements = [line for path in EXAMPLE.glob("*.py") for line in ast.walk(ast.parse(path.read_text("utf-8")))]
    imported = [line for line in statements if isinstance(line, ast.Import | ast.ImportFrom)]
    modules = {str(getattr(line, "module", None) or line.names[0].name) for line in imported}
    assert {module for module in modules if module.startswith("turnlens")} == {"turnlens.extending"}
    names = {
        alias.name for line in imported if getattr(line, "module", "") == "turnlens.extending" for alias in line.names
    }
    assert len(names) > 10 and names <= set(turnlens.extending.__all__)
    assert all(getattr(turnlens.extending, name) is not None for name in turnlens.extending.__all__)


def test_the_task_of_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    from next_turn_task import FIRST_REPLY

    vectors = {"a": [1, 0], "b": [9, 1], "reply a": [1, 0], "reply b": [0, 1]}
    rows = [[{"role": "user", "content": text}, {"role": "agent", "content": f"reply {text}"}] for text in "ab"]
    conversations = [{"id": str(number), "messages": messages} for number, messages in enumerate(rows)]

    def encode(texts: list[str]) -> np.ndarray:
        return np.array([vectors[text] for text in texts])

    figures = turnlens.evaluate(conversations, encoder=encode, tasks=[FIRST_REPLY])["first_reply"]
    assert figures["queries"] == 2 and figures["r_at_1"] == 50


BROKEN = {
    "quits": "raise SystemExit(3)\n",
    "fives": "METHODS = 5\nTASKS = {'a': 3}\nCOMMANDS = {'c': None}\nFORMATS = [1]\n",
    "takes": "COMMANDS = dict.fromkeys(('inspect', 'store', 'odd'), ('nowhere:app', 'mine'))\n",
    "shapes": "FORMATS = {'x': 'nowhere:F', 'y': 'shapes:FIVE'}\nFIVE = 5\n",
    "lazy": "def __getattr__(name):\n    raise RuntimeError('no')\n",
}


def test_what_is_wrong_in_an_extension_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, text in BROKEN.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        install(tmp_path, name, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    extensions.cache_clear()
    try:
        assert set(Table({"own": "pathlib:Path"}, "METHODS")) >= {"own"}
        formats: Table[type] = Table({"own": "pathlib:Path"}, "FORMATS")
        assert {"own", "x", "y"} <= set(formats) and set(formats.usable(type)) == {Path}
        assert set(formats.usable(type)) == {Path}  # and told once
    finally:
        extensions.cache_clear()
    for name in ("extension quits", "METHODS of the extension fives", "METHODS of the extension lazy"):
        assert f"left out the {name}: " in caplog.text
    assert caplog.text.count("left out the entry of FORMATS x: No module named 'nowhere'") == 1


@pytest.mark.slow
def test_an_extension_replaces_nothing_and_a_broken_one_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "greedy.py").write_text('METHODS = {"complete": "nowhere:X", "own": "nowhere:X"}\n', encoding="utf-8")
    (tmp_path / "broken.py").write_text("import nowhere\n", encoding="utf-8")
    install(tmp_path, "greedy", "greedy")
    install(tmp_path, "broken", "broken")
    for name, text in BROKEN.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        install(tmp_path, name, name)
    (tmp_path / "chats.csv").write_text("conversation_id,speaker,text\n1,user,hi\n1,agent,hello\n", encoding="utf-8")
    train = ("train", "nowhere.jsonl", "--method", "nope", "--output", tmp_path / "model")
    found = run(tmp_path, train, ("inspect", tmp_path / "chats.csv"), ("store", "info", "nowhere"), ("odd", "--help"))
    done, inspected, store, odd = found["done"]
    assert inspected["code"] == 0 and "conversations" in inspected["stdout"]  # our command, and no format in its way
    assert "nowhere" in store["output"] and "No module" not in store["output"]
    assert odd["code"] == 1 and "No module named 'nowhere'" in odd["output"]
    told = words_of(found["stderr"] + "".join(one["output"] for one in found["done"]))
    assert "left out the command inspect of an extension" in told
    assert done["code"] == 1
    assert "left out the extension broken: No module named 'nowhere'" in found["stderr"] + done["output"]
    assert "expected one of complete, in-context, reply-head, own, " in words_of(done["output"])
    assert found["complete"] == "Complete"
