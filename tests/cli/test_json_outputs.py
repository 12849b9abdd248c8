import json
from pathlib import Path

import pytest

import turnlens

from .command_line import run

jsonschema = pytest.importorskip("jsonschema", reason="comes with the extra dev")

PAGE = Path(__file__).parents[2] / "docs" / "commands.schema.json"
ARGUMENTS = {
    "index --json": "CHATS --store STORE",
    "search --json": "STORE card",
    "search --level reply --json": "STORE card",
    "search --level conversation --json": "STORE card",
    "store info --json": "STORE",
    "reply --output": "- MODEL --candidates REPLIES --conversation CHATS",
    "evaluate --output": "- MODEL CHATS",
    "inspect --output": "- CHATS",
    "cluster --output FILE.jsonl": "--store STORE",
    "cluster --level conversation --output FILE.jsonl": "--store STORE",
    "label --output FILE.jsonl": "CHATS --groups STORE",
}


@pytest.mark.slow
def test_commands_write_what_their_schema_says(chats: Path, tiny_encoder_path: Path, tmp_path: Path) -> None:
    (tmp_path / "replies.txt").write_text("your card is blocked\nyou are welcome\n")
    turnlens.ConversationStore.create(tmp_path / "store", chats, encoder=tiny_encoder_path)
    places = {"CHATS": chats, "STORE": tmp_path / "store", "MODEL": tiny_encoder_path}
    places |= {"REPLIES": tmp_path / "replies.txt", "FILE.jsonl": "-"}
    schemas = json.loads(PAGE.read_text(encoding="utf-8"))["$defs"]
    assert ARGUMENTS.keys() == schemas.keys()
    for command, arguments in ARGUMENTS.items():
        words = [str(places.get(word, word)) for word in f"{command} {arguments}".split()]
        result = run(*words)
        assert result.exit_code == 0, (command, result.output)
        lines = [json.loads(line) for line in result.stdout.splitlines()] if "FILE" in command else None
        written = json.loads(result.stdout) if lines is None else lines
        assert written, command
        jsonschema.Draft202012Validator(schemas[command]).validate(written)
