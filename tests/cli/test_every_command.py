"""Every command, once, on small files: it works, or names in one line the extra that is missing.

CI runs this in three environments: the plain installation, the README's and one with every extra.
"""

import json
import re
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer.main

import turnlens
from turnlens.cli.main import app

from .command_line import run

pytestmark = pytest.mark.slow

# The command, and what follows it; each may use what those above it have written.
COMMANDS = {
    "inspect": "chats.jsonl",
    "convert": "chats.jsonl --output all.jsonl.gz",
    "train": "chats.jsonl --encoder encoder --max-steps 1 --output model",
    "embed": "chats.jsonl --model encoder --output vectors.parquet",
    "evaluate": "encoder chats.jsonl --task semantic-retrieval",
    "reply": "encoder --candidates replies.txt --conversation chat.jsonl",
    "explore": "chats.jsonl --model encoder --export report",
    "cluster": "chats.jsonl --model encoder --output groups.csv",
    "index": "chats.jsonl --store talks --model encoder",
    "export": "talks --output talks.jsonl",
    "label": "chat.jsonl --groups chats.store --output labels.csv",
    "search": "talks card --mode text",
    "groups ask": "talks",
    "store info": "talks",
    "store compact": "talks",
    "store annotate": "talks tags.jsonl --label intent",
    "store delete": "talks sample-0-000000",
    "store erase": "talks sample-0-000001",
    "store reindex": "talks --model model",
    "serve": "--model encoder",
    "new-key": "website",
    "demo": "--conversations 80 --max-steps 1",
    "papers plan": "encoder --candidates replies.txt --conversation chat.jsonl --goal thanks",
    "papers convert-plato": "PLATO.pt --output plato",
    "papers bench": "triple --encoder encoder --data-sets sample --methods bm25 --quick --no-studies --output bench",
    "papers plot interactions": "chats.jsonl --model encoder --output c1.png",
    "papers plot alignment-uniformity": "chats.jsonl --model encoder --output moves.png",
    "papers plot additivity": "chats.jsonl --model encoder --output additivity.png",
}
# PLATO's weights are not here (test_plato.py makes small ones), a service runs until it is stopped (test_cli_serve.py).
ELSEWHERE = {"papers convert-plato", "serve"}
# One module of each extra that commands name.
EXTRAS = {"train": "sentence_transformers", "plots": "matplotlib", "baselines": "gensim"}


def leaves(command: Any, *names: str) -> Iterator[str]:
    if hasattr(command, "commands"):
        for name, further in command.commands.items():
            yield from leaves(further, *names, name)
    else:
        yield " ".join(names)


def test_no_command_is_left_out() -> None:
    assert set(leaves(typer.main.get_command(app))) == set(COMMANDS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tiny_encoder_path: Path) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    shutil.copytree(tiny_encoder_path, folder / "encoder")
    talks = turnlens.sample_conversations(60)
    talks.to_json(str(folder / "chats.jsonl"))
    talks.select([0]).to_json(str(folder / "chat.jsonl"))
    (folder / "tags.jsonl").write_text(json.dumps({"id": talks["id"][0], "intent": "card"}))
    (folder / "replies.txt").write_text("Your card is blocked.\nYou are welcome.\n")
    return folder


def test_each_works_or_names_the_missing_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("turnlens.cli.demo_job.load_encoder", lambda: turnlens.load_encoder("encoder"))
    missing: dict[str, str] = {}
    for command, arguments in COMMANDS.items():
        if command in ELSEWHERE:
            continue
        result = run(*command.split(), *arguments.split())
        if result.exit_code:
            named = re.search(r"pip install 'turnlens\[(\w+)\]'", result.output)
            assert result.exit_code == 1 and named and result.output.count("error: ") == 1, (
                f"{command}: {result.output}\n{result.exception!r}"
            )
            assert not find_spec(EXTRAS[named[1]]), f"{command}: {result.output}"
            missing[command] = named[1]
    if missing:
        pytest.skip(f"all work but those that name an extra that is not installed: {missing}")
