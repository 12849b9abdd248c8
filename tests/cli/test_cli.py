from __future__ import annotations

import subprocess
import sys

import pytest

from turnwise.cli.options import parse_settings

from .command_line import run, succeed

BENCHES = ("bench dialoguecse", "bench dial2vec", "bench triple", "bench report")
PLOTS = ("plot interactions", "plot alignment-uniformity", "plot additivity")
OTHERS = ("demo", "inspect", "convert", "adapt", "train", "embed", "evaluate", "reply", "plan", "serve", "new-key")
COMMANDS = (*OTHERS, *BENCHES, *PLOTS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command: str) -> None:
    assert f"Example: turnwise {command}" in " ".join(succeed(*command.split(), "--help").split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "nowhere.jsonl", "--output", "out"), "found no conversations"),
        (("train", "CHATS", "--output", "out", "--method", "word2vec"), "unknown method 'word2vec'"),
        (("train", "CHATS", "--output", "out", "--set", "temperature"), "expected name=value"),
        (("train", "CHATS", "--output", "out", "--set", "temperature=-1"), "temperature must be a positive number"),
        (("train", "CHATS", "--output", "out", "--encoder", "./no-encoder"), "expected the folder of a saved encoder"),
        (("convert", "CHATS", "--out", "chats.txt"), "expected a name ending in .jsonl"),
        (("convert", "CHATS", "--out", "CHATS"), "--force"),
        (("evaluate", "a", "b", "CHATS"), "expected [MODEL] DATA"),
        (("evaluate", "CHATS", "--json", "CHATS"), "exists already"),
        (("evaluate", "CHATS", "--json", "CHATS/figures.json"), "is a file"),
        (
            ("train", "CHATS", "--output", "out", "--set", "bf16=False"),
            "bf16 must be true or false or 'forced', got 'False'",
        ),
        (("train", "CHATS", "--output", "CHATS", "--force"), "is a file: expected the name of a folder"),
        (("train", "CHATS", "--output", ".", "--force"), "no name of a folder"),
        (("bench", "dialoguecse", "--word-vectors", "nowhere.txt"), "nowhere.txt: no such file"),
    ],
)
def test_mistakes_are_one_line_and_exit_with_1(
    arguments, message, chats, tiny_encoder_path, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if arguments[0] == "train" and "--encoder" not in arguments:
        arguments += ("--encoder", tiny_encoder_path)
    result = run(*(str(argument).replace("CHATS", str(chats)) for argument in arguments))
    assert result.exit_code == 1
    assert message in result.output and "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_help_loads_no_heavy_library() -> None:
    script = """
import sys
from typer.testing import CliRunner
from turnwise.cli.main import app
for command in ([], ["train"], ["plot"]):
    assert CliRunner().invoke(app, [*command, "--help"]).exit_code == 0
print({"torch", "transformers", "datasets", "sentence_transformers", "numpy"} & sys.modules.keys())
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"


def test_settings_are_toml_values_or_words() -> None:
    numbers = parse_settings(["temperature=0.05", "bf16=true", "negatives = 9"])
    assert numbers == {"temperature": 0.05, "bf16": True, "negatives": 9}
    words = parse_settings(["context=averaged", 'keep="tail"', "name=a=b"])
    assert words == {"context": "averaged", "keep": "tail", "name": "a=b"}
    with pytest.raises(ValueError, match="--set bf16: expected name=value"):
        parse_settings(["bf16"])
