from __future__ import annotations

import pytest
from sentence_transformers import SentenceTransformer

from .command_line import run, succeed

pytest.importorskip("model2vec", reason="needs the extra static")
pytest.importorskip("skeletoken", reason="needs the extra static")


def test_a_static_encoder_and_what_it_loses(chats, tiny_encoder_path, tmp_path) -> None:
    arguments = ("model", "distill", tiny_encoder_path, chats, "--to", "static", "--output", tmp_path / "static")
    output = succeed(*arguments, "--task", "semantic-retrieval", "--dimensions", "16")
    assert "times as fast" in output and "shared neighbours" in output
    assert output.count("semantic retrieval") >= 2  # of both
    assert SentenceTransformer(str(tmp_path / "static"), device="cpu").encode("thanks").shape == (16,)
    assert "exists already" in run(*arguments).output


def test_it_embeds_by_the_commands(chats, tiny_encoder_path, tmp_path) -> None:
    succeed("model", "distill", tiny_encoder_path, "--output", tmp_path / "static")
    succeed("embed", chats, "--model", tmp_path / "static", "--output", tmp_path / "v.parquet")
    pytest.importorskip("lancedb", reason="needs the extra store")
    succeed("index", chats, "--model", tmp_path / "static", "--store", tmp_path / "talks")
    succeed("search", tmp_path / "talks", "my card")


def test_a_task_needs_conversations(tiny_encoder_path, tmp_path) -> None:
    result = run("model", "distill", tiny_encoder_path, "--task", "semantic-retrieval", "--output", tmp_path / "static")
    assert result.exit_code == 1 and "--task needs conversations" in result.output
