"""The page *Logs of an assistant* tells which requests fail: its own code is run on an export in which three do."""

from pathlib import Path
from typing import Any

import pytest
from sentence_transformers import SentenceTransformer

import turnlens
from assistant_export import write_observations
from tests.cli.command_line import succeed
from tests.test_commands_of_pages import ROOT, blocks_of

ASKED = ("a", "b", "c", "d", "e")  # far apart for the random encoder, which joins requests that are alike
FAILING = ("a", "c", "e")


def test_the_requests_that_fail_and_their_examples(
    tmp_path: Path, tiny_encoder: SentenceTransformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = {name: [f"{name} {name} {name} {name} {number}" for number in range(12)] for name in ASKED}
    talks = turnlens.read_conversations(write_observations(tmp_path / "observations.jsonl", asked, FAILING))
    assert len(talks) == 60 and sum(talks["errors"]) == 3 * 8
    turnlens.ConversationStore.create("assistant", talks, encoder=tiny_encoder)
    names: dict[str, Any] = {"turnlens": turnlens}
    for block in blocks_of(ROOT / "docs" / "assistant-logs.md"):
        if block.language == "python":
            exec(block.code, names)
        elif "turnlens export assistant --sample" in block.code:
            succeed(*block.code.split()[1:])
    assert sorted(example.split()[0] for example in names["worst"]["example"]) == sorted(FAILING)
    assert {talk["id"].split("-")[0] for talk in names["examples"]} == set(FAILING)
    assert any(talk.get("error") == "the tool timed out" for talk in names["examples"])
