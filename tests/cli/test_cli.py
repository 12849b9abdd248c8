import json
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import turnlens
from turnlens.cli.main import app
from turnlens.cli.options import parse_settings
from turnlens.cli.terminal import Application, Commands
from turnlens.data import conversations

from .command_line import fail, run, succeed

PLOTS = ("papers plot interactions", "papers plot alignment-uniformity", "papers plot additivity")
READING = ("inspect", "convert", "train", "embed", "evaluate", "cluster", "explore")
OTHERS = ("demo", *READING, "reply", "papers bench", "papers plan", "papers convert-plato", "serve", "new-key")
COMMANDS = (*OTHERS, *PLOTS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command: str) -> None:
    assert f"Example: turnlens {command}" in " ".join(succeed(*command.split(), "--help").split())


def test_every_option_is_described() -> None:
    def undescribed(command: Any) -> list[str]:
        below = getattr(command, "commands", {}).values()
        own = [f"{command.name} {option.name}" for option in command.params if not option.help]
        return own + [name for further in below for name in undescribed(further)]

    assert undescribed(get_command(app)) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "nowhere.jsonl", "--output", "out"), "no such file or folder"),
        (("train", "CHATS", "--output", "out", "--method", "word2vec"), "unknown method 'word2vec'"),
        (("train", "CHATS", "--output", "out", "--method", "incontext"), "'incontext' (did you mean 'in-context'?)"),
        (("train", "CHATS", "--output", "out", "--set", "epoch=3"), "the default training has no setting 'epoch'"),
        (("train", "CHATS", "--output", "out", "--set", "temperature"), "--set temperature: expected name=value"),
        (
            ("train", "CHATS", "--output", "out", "--method", "reply-head", "--set", "bf16=true"),
            "reply-head has no setting 'bf16': leave it out",
        ),
        (("train", "CHATS", "--output", "out", "--set", "temperature=-1"), "temperature must be a positive number"),
        (("train", "CHATS", "--output", "out", "--encoder", "./no-encoder"), "expected the folder of a saved encoder"),
        (("convert", "CHATS", "--output", "chats.txt"), "expected a name ending in .jsonl"),
        (("convert", "CHATS", "--output", "CHATS", "--force"), "chats.jsonl is also read: choose another name"),
        (("convert", ".", "--output", "out/all.jsonl"), "out/all.jsonl lies in ., which is read"),
        (("train", ".", "--output", "out"), "out lies in ., which is read"),
        (("embed", ".", "--output", "out.parquet"), "out.parquet lies in ., which is read"),
        (("embed", "silent.jsonl", "--output", "silent.npy", "--force"), "silent.jsonl is also read"),
        (("inspect", "CHATS", "--output", "CHATS", "--force"), "is also read"),
        (("index", ".", "--store", "out"), "out lies in ., which is read"),
        (("evaluate", ".", "--output", "out"), "out lies in ., which is read"),
        (("embed", "CHATS", "--model", "no", "--output", "v.txt"), "expected a name ending in .parquet, .csv, .npy"),
        (("embed", "CHATS", "--model", "no", "--output", "silent.npy"), "silent.jsonl exists already"),
        (("embed", "CHATS", "--engine", "ray", "--output", "v.parquet"), "give a name without ending, or a URL"),
        (("embed", "s3://b/chats.jsonl", "--output", "v.parquet"), "give a name without ending, or a URL"),
        (("index", "CHATS", "--store", "s3://bucket/talks"), "expected a folder on a disk"),
        (("evaluate", "MODEL"), "is a model: expected [MODEL] DATA, the conversations are missing"),
        (("evaluate", "CHATS", "--task", "translation"), "semantic-retrieval"),
        (("evaluate", "a", "b", "CHATS"), "expected [MODEL] DATA"),
        (("evaluate", "CHATS", "--output", "CHATS"), "is also read"),
        (("evaluate", "CHATS", "--output", "OTHER"), "exists already"),
        (("evaluate", "CHATS", "--output", "CHATS/figures.json"), "is a file"),
        (
            ("train", "CHATS", "--output", "out", "--set", "bf16=False"),
            "bf16 must be true or false or 'forced', got 'False'",
        ),
        (("train", "CHATS", "--output", "OTHER", "--force"), "is a file: expected the name of a folder"),
        (("train", "CHATS", "--output", "out", "--method", "no.toml"), "no.toml is no file: expected a recipe"),
        (("reply", "MODEL", "--candidates", "no.txt", "--conversation", "CHATS"), "no.txt is no file: expected cand"),
        (
            ("reply", "MODEL", "--candidates", "OTHER", "--conversation", "SILENT"),
            "conversation 'c' has no message with text",
        ),
        (
            ("papers", "plan", "MODEL", "--candidates", "OTHER", "--conversation", "SILENT", "--goal", "x"),
            "'c' has no message with text",
        ),
        (("train", "CHATS", "--output", ".", "--force"), "not the name of a folder"),
        (("papers", "bench", "dialoguecse", "--word-vectors", "nowhere.txt"), "nowhere.txt: no such file"),
    ],
)
def test_mistakes_are_one_line_and_exit_with_1(
    arguments, message, chats, tiny_encoder_path, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.txt").write_text("yes")
    (tmp_path / "silent.jsonl").write_text('{"id": "c", "messages": [{"role": "user", "content": " "}]}')
    if arguments[0] == "train" and "--encoder" not in arguments:
        arguments += ("--encoder", str(tiny_encoder_path))
    given = {"CHATS": chats, "OTHER": "other.txt", "SILENT": "silent.jsonl", "MODEL": tiny_encoder_path}
    for name, value in given.items():
        arguments = [argument.replace(name, str(value)) for argument in arguments]
    assert message in fail(*arguments)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("given", "expected"), [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")])
def test_threads_sleep_while_they_wait_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], expected: str
) -> None:
    monkeypatch.setattr(os, "environ", given)
    runpy.run_path(str(turnlens.__file__))  # as `import turnlens` does
    assert os.environ["OMP_WAIT_POLICY"] == expected


def test_settings_are_toml_values_or_words() -> None:
    numbers = parse_settings(["temperature=0.05", "bf16=true", "negatives = 9"])
    assert numbers == {"temperature": 0.05, "bf16": True, "negatives": 9}
    words = parse_settings(["context=averaged", 'keep="tail"', "name=a=b"])
    assert words == {"context": "averaged", "keep": "tail", "name": "a=b"}


def test_texts_and_names_give_the_terminal_no_orders(tmp_path) -> None:
    hostile = "e\x1b[31mvil\x9b\u202e"
    path = tmp_path / f"{hostile}.csv"
    path.write_text(f"{hostile},what\na,b\n")
    output = run("convert", path, "--output", tmp_path / f"{hostile}.jsonl").output
    assert "e\ufffd[31mvil\ufffd\ufffd, what" in output
    chat = {"id": hostile, "messages": [{"role": hostile, "content": hostile, hostile: hostile}], hostile: hostile}
    chats = tmp_path / f"{hostile}.jsonl"
    chats.write_text(json.dumps(chat) + "\n")
    for command in (
        ("convert", path, "--output", "-"),
        ("convert", chats, "--output", "-"),
        ("convert", chats, "--output", hostile),
        ("inspect", path),
        ("inspect", chats, "--format", hostile),
        ("inspect", chats, "--output", "-"),
        ("inspect", chats, "--verbose"),
        ("inspect", chats, "--columns", hostile),
        ("inspect", chats, "--redact", hostile),
        ("inspect", tmp_path / f"no{hostile}.csv"),
        ("search", hostile, hostile, "--limit", hostile),
        (hostile,),
    ):
        output += run(*command).output
    assert not [sign for sign in output if not sign.isprintable() and sign != "\n"]


def test_names_in_brackets_are_names(chats, tiny_encoder_path, tmp_path) -> None:
    odd = Path(shutil.copy(chats, tmp_path / "my [bold] chats [x].jsonl"))
    figures = tmp_path / "figures [bold].json"
    output = succeed("evaluate", tiny_encoder_path, odd, "--max-queries", 10, "--output", figures)
    assert "[bold]" in output and figures.is_file()
    assert "[red]" in succeed("convert", odd, "--output", tmp_path / "[red].jsonl")


def test_nothing_is_printed_but_by_the_console() -> None:
    printing = re.compile(r"(\w+\.)?\b(print|echo|secho|style|write)\(")
    allowed = {"console.", "error_console.", "file.", "writer.", "parts.", "self."}
    for path in Path(turnlens.__file__).parent.glob("cli/**/*.py"):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            others = [call for call in printing.finditer(line) if call[1] not in allowed]
            known = (
                "typer.echo(text)" in line or 'typer.echo(f"turnlens {turnlens.__version__}' in line
            )  # JSON; no data
            assert not others or known, f"{path}:{number}: {line}"


def test_an_error_of_the_system_names_the_file_only(chats, tmp_path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    result = run(
        "papers", "plan", "nowhere", "--goal", "x", "--conversation", tmp_path / "loop" / "x", "--candidates", chats
    )
    assert "error: " in result.output and "[Errno" not in result.output


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 8 GiB"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."),
        ImportError("libtorch_cpu.so: failed to map segment from shared object"),
        RuntimeError("CUDA out of memory. Tried to allocate 2.00 MiB."),
        RuntimeError("unable to mmap 90868376 bytes from file <model.safetensors>: Cannot allocate memory (12)"),
    ],
)
def test_memory_that_is_used_up_is_one_line(chats, tmp_path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(conversations, "convert_conversations", fail)
    result = run("convert", chats, "--output", tmp_path / "all.jsonl")
    assert result.exit_code == 1 and result.output.startswith("error: not enough memory: ")


class PanicException(BaseException):
    """As libraries in Rust raise it."""


@pytest.mark.parametrize("error", [RuntimeError("a\nb"), KeyError("c"), PanicException("d"), ZeroDivisionError()])
def test_unexpected_errors_are_one_line_and_a_log(error: BaseException, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    app = Application(cls=Commands)

    @app.command()
    def fail() -> None:
        raise error

    app.command()(lambda: None)
    result = CliRunner().invoke(app, ["fail"])
    (log,) = tmp_path.iterdir()
    (line,) = result.output.splitlines()
    name = type(error).__name__
    assert result.exit_code == 1 and line.startswith(f"error: unexpected {name}: ") and str(log) in line
    assert "Traceback" in log.read_text() and name in log.read_text()
    assert log.stat().st_mode & 0o077 == 0 or os.name == "nt"


STOPPED = """
import os, signal, sys
from turnlens.cli.main import main
from turnlens.data import conversations

def read_files(*_):
    yield {"id": "a", "messages": []}
    os.kill(os.getpid(), signal.SIGTERM)
    yield {"id": "b", "messages": []}

conversations.read_files = read_files
main()
"""


@pytest.mark.slow
def test_sigterm_removes_what_is_half_written(chats, tmp_path) -> None:
    output = tmp_path / "out" / "all.jsonl"
    command = [sys.executable, "-c", STOPPED, "convert", str(chats), "--output", str(output)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 128 + signal.SIGTERM and "Stopped." in ended.stderr
    assert "Traceback" not in ended.stderr
    assert list(output.parent.iterdir()) == []
