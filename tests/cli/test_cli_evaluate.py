from __future__ import annotations

import shutil
from pathlib import Path

from .command_line import fail, succeed


def test_a_model_in_the_place_of_the_data_is_told(tiny_encoder_path) -> None:
    assert "is a model: expected [MODEL] DATA, the conversations are missing" in fail("evaluate", tiny_encoder_path)


def test_names_in_brackets_are_names(chats, tiny_encoder_path, tmp_path) -> None:
    odd = Path(shutil.copy(chats, tmp_path / "my [bold] chats [x].jsonl"))
    figures = tmp_path / "figures [bold].json"
    output = succeed("evaluate", tiny_encoder_path, odd, "--max-queries", 10, "--output", figures)
    assert "[bold]" in output and figures.is_file()
    assert "[red]" in succeed("convert", odd, "--output", tmp_path / "[red].jsonl")


def test_unknown_task_lists_the_known(chats, tiny_encoder_path) -> None:
    assert "semantic-retrieval" in fail("evaluate", tiny_encoder_path, chats, "--task", "translation")
