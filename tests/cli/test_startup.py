"""Imports before a command needs them, which take seconds: nothing heavy where nothing is embedded."""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import datasets
import pytest

from tests.cli.command_line import succeed
from turnlens._utils import registries

pytestmark = pytest.mark.slow

# Runs a command in a fresh process; its last line of output says which of these modules it imported.
_SCRIPT = """
import json, sys
heavy = json.loads(sys.argv.pop(1))
try:
    from turnlens.cli.main import main
    main()
finally:
    print()
    print(json.dumps([name for name in heavy if name in sys.modules]))
"""
_ENCODING = ["torch", "transformers", "sentence_transformers", "datasets", "sklearn"]
_HEAVY = [*_ENCODING, "pandas", "scipy", "pyarrow", "matplotlib", "lancedb", "graspologic_native", "fastapi"]


def imported_by(*arguments: object, heavy: Iterable[str] = _HEAVY, code: int = 0) -> list[str]:
    """Return the heavy modules that a command imports."""
    command = [sys.executable, "-c", _SCRIPT, json.dumps(list(heavy)), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == code, done.stderr
    answer: list[str] = json.loads(done.stdout.splitlines()[-1])
    return answer


def test_the_package_and_all_help_import_nothing_heavy() -> None:
    script = """
import sys
import turnlens
assert "numpy" not in sys.modules and "rich" not in sys.modules
from typer.main import get_command
from typer.testing import CliRunner
from turnlens.cli.main import app
def help_of(command, *names):
    assert CliRunner().invoke(app, [*names, "--help"]).exit_code == 0, names
    for name, further in getattr(command, "commands", {}).items():
        help_of(further, *names, name)
help_of(get_command(app))
print({"numpy", *HEAVY} & sys.modules.keys())
"""
    script = script.replace("HEAVY", repr(_HEAVY))
    text = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert text.stdout == "set()\n", text.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("train", "CHATS", "--method", "nope", "--output", "m"),
        ("train", "CHATS", "--set", "validation=CHATS", "--set", "task=nope", "--output", "m"),
        ("train", "CHATS", "--encoder", "./nowhere", "--output", "m"),
        ("train", "CHATS", "--set", "batch_sise=4", "--output", "m"),
        ("train", "CHATS", "--set", "batch_sise=4", "--method", "in-context", "--output", "m"),
        ("train", "CHATS", "--set", "batch_sise=4", "--method", "reply-head", "--output", "m"),
        ("train", "CHATS", "--output", "CHATS"),
        ("train", "nowhere.jsonl", "--output", "m"),
        ("train", "CHATS", "--set", "validation=nowhere.jsonl", "--output", "m"),
        ("embed", "nowhere.jsonl", "--output", "v.parquet"),
        ("embed", "CHATS", "--model", "./nowhere", "--output", "v.parquet"),
        ("embed", "CHATS", "--output", "CHATS"),
        ("evaluate", "CHATS", "--task", "nope"),
        ("evaluate", "nowhere.jsonl"),
        ("evaluate", "./nowhere", "CHATS"),
        ("index", "nowhere.jsonl", "--store", "talks"),
        ("index", "CHATS", "--model", "./nowhere", "--store", "talks"),
        ("search", "nowhere", "card"),
        ("search", "nowhere", "card", "--level", "reply", "--mode", "text"),
        ("cluster", "nowhere.jsonl", "--output", "g.parquet"),
        ("label", "nowhere.jsonl", "--groups", "nowhere", "--output", "l.parquet"),
        ("cluster", "--store", "nowhere", "--output", "g.parquet"),
        ("explore", "nowhere.jsonl"),
        ("papers", "bench", "triple", "--data-sets", "nope"),
    ],
    ids=" ".join,
)
def test_arguments_are_checked_before_anything_is_loaded(
    arguments: tuple[str, ...], chats: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = [str(chats) if argument == "CHATS" else argument for argument in arguments]
    assert imported_by(*given, heavy=[*_ENCODING, "lancedb", "graspologic_native"], code=1) == []


def test_inspecting_imports_no_encoder(chats: Path) -> None:
    assert imported_by("inspect", chats, heavy=[*_ENCODING, "pandas", "lancedb"]) == []


def test_an_unchanged_store_is_searched_for_words_and_clustered_without_an_encoder(
    chats: Path, tiny_encoder_path: Path, tmp_path: Path
) -> None:
    store = tmp_path / "talks"
    succeed("index", chats, "--store", store, "--model", tiny_encoder_path)
    succeed("cluster", "--store", store, "--output", tmp_path / "first.csv")
    heavy = [*_ENCODING, "scipy", "graspologic_native", "matplotlib"]
    assert imported_by("search", store, "card", "--mode", "text", heavy=heavy) == []
    assert imported_by("store", "info", store, heavy=heavy) == []
    assert imported_by("cluster", "--store", store, "--output", tmp_path / "again.csv", heavy=heavy) == []
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "first.csv").read_bytes()


@pytest.mark.usefixtures("without_noise")
def test_a_few_messages_are_labelled_without_an_encoder(
    chats: Path, tiny_encoder_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(datasets.config.HF_DATASETS_CACHE))  # also of the processes below
    store, few = tmp_path / "talks", tmp_path / "few.jsonl"
    succeed("index", chats, "--store", store, "--model", tiny_encoder_path)
    succeed("cluster", "--store", store, "--output", tmp_path / "groups.csv")
    few.write_text(json.dumps({"messages": [{"role": "user", "content": "my card is gone"}]}))
    succeed("label", few, "--groups", store, "--output", tmp_path / "first.csv")
    again = tmp_path / "again.csv"
    assert imported_by("label", few, "--groups", store, "--output", again, heavy=[*_ENCODING, "scipy", "lancedb"]) == []
    assert again.read_bytes() == (tmp_path / "first.csv").read_bytes()


def test_what_the_tables_of_names_lead_to_has_these_names() -> None:
    assert all(task.name == name for name, task in registries.TASKS.items())
    assert set(registries.PUBLISHED) <= set(registries.METHODS)
    assert all(issubclass(recipe, registries.METHODS[name]) for name, recipe in registries.PUBLISHED.items())
