from __future__ import annotations

import json

from .command_line import run, succeed


def test_a_centred_model_is_used_by_the_commands(chats, tiny_encoder_path, tmp_path) -> None:
    model, uniformity = tmp_path / "centred", []
    succeed("model", "centre", chats, "--model", tiny_encoder_path, "--output", model)
    for one in (tiny_encoder_path, model):
        figures = tmp_path / "figures.json"
        arguments = ("--task", "alignment-uniformity", "--pooling", "messages", "--json", figures, "--force")
        succeed("evaluate", one, chats, *arguments)
        uniformity.append(json.loads(figures.read_text())["alignment_uniformity"]["uniformity"])
    assert uniformity[1] < uniformity[0]  # without what they have in common, dialogues are further apart
    succeed("embed", chats, "--model", model, "--level", "conversation", "--output", tmp_path / "v.parquet")
    assert "exists already" in run("model", "centre", chats, "--model", tiny_encoder_path, "--output", model).output
